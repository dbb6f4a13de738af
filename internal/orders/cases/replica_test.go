//go:build orders

package cases

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/orders"
	"github.com/seed79a3ff49/bloom/replica"
)

// updates is a Source of given updates.
type updates []replica.Update

func (u *updates) Fetch(context.Context, string) (replica.Update, error) {
	orders.Point()
	next := (*u)[0]
	*u = (*u)[1:]
	return next, nil
}

// TestReplica: a Replica has the keys that are in its version and in the next one. Once it has a
// version, it has all of its keys.
func TestReplica(t *testing.T) {
	ctx := context.Background()
	a, b, c := key(101), key(102), key(103)
	one := small(a, b)
	for name, two := range map[string]replica.Update{
		"a patch that adds":    {Patch: bloom.Must(bloom.Diff(one, small(a, b, c)))},
		"a patch that removes": {Patch: bloom.Must(bloom.Diff(one, small(a, c)))},
		"added keys":           {Added: []bloom.Hash{c}},
	} {
		two.Version = "2"
		orders.Run(t, "replica/Refresh by "+name, func() (check, threads) {
			source := &updates{{Version: "1", Full: one.Clone()}, two}
			r := replica.New(source, replica.Config{})
			if err := r.Refresh(ctx); err != nil {
				panic(err)
			}
			var err, missed error
			return func() error { return errors.Join(err, missed, needs(r, a, c)) }, threads{
				func() { err = r.Refresh(ctx) },
				func() {
					version := r.Version()
					missed = needs(r, a)
					if version == "2" {
						missed = errors.Join(missed, needs(r, c))
					}
				},
			}
		})
	}
	orders.Run(t, "replica/two Refreshes and Status", func() (check, threads) {
		source := &updates{
			{Version: "1", Full: one.Clone()},
			{Version: "2", Patch: bloom.Must(bloom.Diff(one, small(a, c)))},
		}
		r := replica.New(source, replica.Config{})
		var errs [2]error
		var status replica.Status
		return func() error {
				if status.Version != "" && status.SizeBytes == 0 {
					return fmt.Errorf("%+v", status)
				}
				return errors.Join(errs[0], errs[1], needs(r, a, c))
			}, threads{
				func() { errs[0] = r.Refresh(ctx) },
				func() { errs[1] = r.Refresh(ctx) },
				func() { status = r.Status() },
			}
	})
}

// TestPublisher: a version has every key whose Add returned before its Publish, as a filter, as a
// patch, and over HTTP.
func TestPublisher(t *testing.T) {
	ctx := context.Background()
	a, b, c := key(101), key(102), key(103)
	orders.Run(t, "publisher/two Publishes and Fetch", func() (check, threads) {
		s := bloom.NewSyncFrom(small(a))
		p := replica.NewPublisher(s.Snapshot)
		first := bloom.Must(p.Fetch(ctx, ""))
		has := map[string][]bloom.Hash{} // by version
		publish := func(h bloom.Hash) func() {
			return func() {
				s.AddHash(h)
				version := p.Publish()
				has[version] = append(has[version], h)
			}
		}
		var patch, full replica.Update
		return func() error {
				f := first.Full.Clone()
				if patch.Full != nil {
					f = patch.Full
				}
				if patch.Patch != nil {
					if err := f.Patch(patch.Patch); err != nil {
						return err
					}
				}
				if err := needs(f, append(has[patch.Version], a)...); err != nil {
					return fmt.Errorf("by a patch: %w", err)
				}
				if err := needs(full.Full, append(has[full.Version], a)...); err != nil {
					return fmt.Errorf("by a filter: %w", err)
				}
				return needs(bloom.Must(p.Fetch(ctx, "")).Full, a, b, c)
			}, threads{
				publish(b),
				publish(c),
				func() {
					patch = bloom.Must(p.Fetch(ctx, first.Version))
					full = bloom.Must(p.Fetch(ctx, ""))
				},
			}
	})
	for _, zipped := range []bool{false, true} {
		orders.Run(t, fmt.Sprint("publisher/two Publishes beside ServeHTTP, gzip ", zipped),
			func() (check, threads) {
				s := bloom.NewSyncFrom(small(a))
				p := replica.NewPublisher(s.Snapshot)
				versions := map[string]*bloom.Filter{bloom.Must(p.Fetch(ctx, "")).Version: s.Snapshot()}
				answer := httptest.NewRecorder()
				request := httptest.NewRequest(http.MethodGet, "/", nil)
				if zipped {
					request.Header.Set("Accept-Encoding", "gzip")
				}
				return func() error {
						data := answer.Body.Bytes()
						if answer.Header().Get("Content-Encoding") == "gzip" {
							r, err := gzip.NewReader(bytes.NewReader(data))
							if err != nil {
								return err
							}
							data, err = io.ReadAll(r)
							if err != nil {
								return err
							}
						}
						f := new(bloom.Filter)
						if err := f.UnmarshalBinary(data); err != nil {
							return err
						}
						version := strings.Trim(strings.TrimPrefix(answer.Header().Get("ETag"), "W/"), `"`)
						if versions[version] == nil || !f.Equal(versions[version]) {
							return errors.New("another filter than that of its version")
						}
						return nil
					}, threads{
						func() {
							for _, h := range []bloom.Hash{b, c} {
								s.AddHash(h)
								version := p.Publish()
								versions[version] = s.Snapshot()
							}
						},
						func() { p.ServeHTTP(answer, request) },
					}
			})
	}
}
