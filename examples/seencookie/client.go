package main

import (
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// A visitor is a browser, as far as the recommender knows.
type visitor struct {
	client *http.Client
	home   *url.URL
}

func newVisitor(home string) (*visitor, error) {
	u, err := url.Parse(home)
	if err != nil {
		return nil, err
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	return &visitor{&http.Client{Jar: jar, Timeout: 10 * time.Second}, u}, nil
}

var linkPattern = regexp.MustCompile(`<li><a href="([^"]*)">`)

// visit returns the pages that the recommender shows.
func (v *visitor) visit(ctx context.Context) (shown []string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, v.home.String(), nil)
	if err != nil {
		return nil, err
	}
	response, err := v.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", v.home, response.Status)
	}
	for _, m := range linkPattern.FindAllStringSubmatch(string(body), -1) {
		shown = append(shown, html.UnescapeString(m[1]))
	}
	return shown, nil
}

// cookie returns the value that the visitor will send.
func (v *visitor) cookie() string {
	for _, c := range v.client.Jar.Cookies(v.home) {
		if c.Name == cookieName {
			return c.Value
		}
	}
	return ""
}

// setCookie makes the visitor send value instead.
func (v *visitor) setCookie(value string) {
	v.client.Jar.SetCookies(v.home, []*http.Cookie{{Name: cookieName, Value: value, Path: "/"}})
}

// visitAll visits until there is nothing left to see of a catalogue of n pages,
// and writes to w what each visit showed.
func visitAll(ctx context.Context, home string, n int, w io.Writer) error {
	v, err := newVisitor(home)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "visit  shown                 seen  as URLs  as MD5s  as filter  whole cookie\n")
	seen := map[string]bool{}
	urls := 0
	for visit := 1; ; visit++ {
		shown, err := v.visit(ctx)
		if err != nil {
			return err
		}
		if len(shown) == 0 {
			fmt.Fprintf(w, "%5d  nothing new\n\n", visit)
			break
		}
		for _, page := range shown {
			if seen[page] {
				return fmt.Errorf("visit %d showed %s again", visit, page)
			}
			seen[page] = true
			urls += len(page)
		}
		value := v.cookie()
		filter, _, _ := strings.Cut(value, ".")
		story := func(page string) string { return page[strings.LastIndex(page, "/")+1:] }
		fmt.Fprintf(w, "%5d  %2d stories %s to %s  %4d  %7d  %7d  %9d  %12d\n", visit, len(shown), story(shown[0]),
			story(shown[len(shown)-1]), len(seen), urls, 32*len(seen), len(filter), len(cookieName+"="+value))
	}
	fmt.Fprintf(w, "%d of %d pages shown, none twice; false positives of the filter hid %d\n", len(seen), n, n-len(seen))

	value := []byte(v.cookie())
	if i := len(value) / 2; value[i] == 'A' {
		value[i] = 'B'
	} else {
		value[i] = 'A'
	}
	v.setCookie(string(value))
	shown, err := v.visit(ctx)
	if err != nil {
		return err
	}
	if len(shown) == 0 || !seen[shown[0]] {
		return fmt.Errorf("a tampered cookie was believed: it was shown %q", shown)
	}
	fmt.Fprintf(w, "one character of the cookie changed: treated as no cookie, shown the first %d again\n", len(shown))
	return nil
}
