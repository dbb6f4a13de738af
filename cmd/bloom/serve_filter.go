package main

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/seed79a3ff49/bloom"
)

// download is the file that /filter sends. Like a file of bloom build, it is a filter in Guava's
// form with a trailer. The Info in the trailer tells a copy how keys are hashed.
type download struct {
	filter  *bloom.Filter
	trailer []byte
	tag     string // a tag that names the bytes, for HTTP
}

// newDownload returns the download of f.
func newDownload(f *bloom.Filter) *download {
	head := &firstBytes{most: 6}
	body := crc32.New(castagnoli)
	digest := sha256.New()
	f.WriteTo(io.MultiWriter(head, body, digest))
	d := &download{filter: f, trailer: trailerOf(f.Info(), head.data, body.Sum32())}
	digest.Write(d.trailer)
	d.tag = strconv.Quote(base64.RawURLEncoding.EncodeToString(digest.Sum(nil)[:16]))
	return d
}

func (d *download) size() int64 { return d.filter.SizeBytes() + int64(len(d.trailer)) }

// WriteTo writes the bytes of the file.
func (d *download) WriteTo(w io.Writer) (int64, error) {
	n, err := d.filter.WriteTo(w)
	if err != nil {
		return n, err
	}
	behind, err := w.Write(d.trailer)
	return n + int64(behind), err
}

// firstBytes keeps the first bytes that are written to it.
type firstBytes struct {
	most int
	data []byte
}

func (b *firstBytes) Write(p []byte) (int, error) {
	b.data = append(b.data, p[:min(len(p), b.most-len(b.data))]...)
	return len(p), nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// trailerOf returns the trailer of a file; docs/format.md describes it. head is Guava's header. sum
// is the CRC-32C of Guava's form.
func trailerOf(info bloom.Info, head []byte, sum uint32) []byte {
	texts := info.Hash + info.Comment
	padding := -len(texts) & 7
	t := binary.BigEndian.AppendUint64(nil, info.N)
	t = binary.BigEndian.AppendUint64(t, math.Float64bits(info.P))
	t = append(t, 0, byte(len(info.Hash)))
	t = binary.BigEndian.AppendUint16(t, uint16(len(info.Comment)))
	t = append(t, texts...)
	t = append(t, make([]byte, padding)...)
	headSum := crc32.Update(crc32.Checksum(head, castagnoli), castagnoli, t)
	t = binary.BigEndian.AppendUint32(t, headSum)
	size := len(t) + 2 + len("bloom\x01") + 4
	t = binary.BigEndian.AppendUint16(t, uint16(size))
	t = append(t, "bloom\x01"...)
	return binary.BigEndian.AppendUint32(t, crc32.Update(sum, castagnoli, t))
}

// getFilter answers with a file of the filter in Guava's form.
func (s *server) getFilter(w http.ResponseWriter, r *http.Request) {
	v := s.now.Load()
	if v.download == nil {
		text := fmt.Sprintf("a %s cannot be sent in the bytes of Guava's filter", v.report.Type)
		http.Error(w, text, http.StatusNotFound)
		return
	}
	release, err := take(s.downloads)
	defer release()
	if err != nil {
		refuse(w, err)
		return
	}
	d := v.download()
	h := w.Header()
	h.Set("ETag", "W/"+d.tag) // The tag is weak, because gzip changes the bytes.
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "no-cache")
	if strings.Contains(strings.Join(r.Header.Values("If-None-Match"), ","), d.tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", "application/octet-stream")
	setWriteTime(w, d.size())
	stop := context.AfterFunc(v.ctx, func() {
		http.NewResponseController(w).SetWriteDeadline(time.Now())
	})
	defer stop()
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Length", strconv.FormatInt(d.size(), 10))
		d.WriteTo(w)
		return
	}
	// Compression does not make a full filter smaller.
	h.Set("Content-Encoding", "gzip")
	level := gzip.BestSpeed
	if d.filter.FillRatio() > 0.2 {
		level = gzip.NoCompression
	}
	z := bloom.Must(gzip.NewWriterLevel(w, level))
	if _, err := d.WriteTo(z); err == nil {
		z.Close()
	}
}
