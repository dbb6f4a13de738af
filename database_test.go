package bloom_test

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
)

// openDatabase returns a database that holds one value. Exec replaces the value.
func openDatabase() *sql.DB { return sql.OpenDB(new(table)) }

type table struct{ value []byte }

func (t *table) Connect(context.Context) (driver.Conn, error) { return conn{t}, nil }
func (t *table) Driver() driver.Driver                        { return nil }

type conn struct{ *table }

func (c conn) Prepare(query string) (driver.Stmt, error) { return stmt(c), nil }
func (conn) Close() error                                { return nil }
func (conn) Begin() (driver.Tx, error)                   { return nil, driver.ErrSkip }

type stmt struct{ *table }

func (stmt) Close() error  { return nil }
func (stmt) NumInput() int { return -1 }

func (s stmt) Exec(args []driver.Value) (driver.Result, error) {
	s.value = bytes.Clone(args[0].([]byte))
	return driver.RowsAffected(1), nil
}

func (s stmt) Query([]driver.Value) (driver.Rows, error) { return &rows{value: s.value}, nil }

type rows struct {
	value []byte
	done  bool
}

func (*rows) Columns() []string { return []string{"bits"} }
func (*rows) Close() error      { return nil }

func (r *rows) Next(dest []driver.Value) error {
	if r.done {
		return io.EOF
	}
	dest[0], r.done = r.value, true
	return nil
}
