package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/seed79a3ff49/bloom"
)

const (
	cookieName = "seen"
	// maxCookie is the least that browsers must keep of a cookie, with its name
	// and attributes (RFC 6265, section 6.1), and the most that they do keep.
	maxCookie = 4096
)

// cookies turns filters of one size into cookies and back. The value is
//
//	base64 of the filter . base64 of the HMAC-SHA256 of name=base64 of the filter
//
// Neither alphabet has a character that a cookie must quote.
type cookies struct {
	key   []byte
	empty *bloom.Filter
}

// newCookies returns an error if a filter for n pages at a false-positive rate of
// p does not fit in a cookie.
func newCookies(key []byte, n uint64, p float64) (*cookies, error) {
	m := bloom.OptimalM(n, p)
	if m > maxCookie*8 { // do not even make it
		return nil, fmt.Errorf("a filter for n = %d pages at p = %v takes %d bytes, a cookie %d at most", n, p, m/8, maxCookie)
	}
	f, err := bloom.New(n, p)
	if err != nil {
		return nil, err
	}
	c := &cookies{key, f}
	if size := len(c.seal(f, true).String()); size > maxCookie {
		return nil, fmt.Errorf("a cookie for n = %d pages at p = %v takes %d bytes, %d at most are kept", n, p, size, maxCookie)
	}
	return c, nil
}

// seal returns the cookie that holds f. A secure one comes back over HTTPS only.
func (c *cookies) seal(f *bloom.Filter, secure bool) *http.Cookie {
	text, err := f.MarshalText()
	if err != nil {
		panic(err) // only a zero Filter has no text
	}
	return &http.Cookie{
		Name:     cookieName,
		Value:    string(text) + "." + c.sign(string(text)),
		Path:     "/",
		MaxAge:   int(30 * 24 * time.Hour / time.Second),
		HttpOnly: true,
		Secure:   secure,
		SameSite: http.SameSiteLaxMode,
	}
}

// open returns the filter in r's cookie, or an empty one if r has no cookie that
// seal made: then it is as if the visitor came for the first time.
func (c *cookies) open(r *http.Request) *bloom.Filter {
	for _, cookie := range r.CookiesNamed(cookieName) {
		if f, ok := c.parse(cookie.Value); ok {
			return f
		}
	}
	return c.empty.Clone()
}

func (c *cookies) parse(value string) (*bloom.Filter, bool) {
	if len(value) > maxCookie {
		return nil, false
	}
	text, signature, _ := strings.Cut(value, ".")
	if !hmac.Equal([]byte(signature), []byte(c.sign(text))) {
		return nil, false
	}
	// Signed, so made with this key, but perhaps for another n and p.
	f := new(bloom.Filter)
	if err := f.UnmarshalText([]byte(text)); err != nil {
		return nil, false
	}
	if f.M() != c.empty.M() || f.K() != c.empty.K() || f.Strategy() != c.empty.Strategy() {
		return nil, false
	}
	return f, true
}

// sign returns the signature of a cookie's filter. It covers the name as well, so
// that what the key signs for another cookie is no filter.
func (c *cookies) sign(text string) string {
	mac := hmac.New(sha256.New, c.key)
	mac.Write([]byte(cookieName + "=" + text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
