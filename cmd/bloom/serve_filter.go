package main

import (
	"fmt"
	"net/http"

	"github.com/seed79a3ff49/bloom/internal/publish"
)

// getFilter answers with the filter as a file in Guava's form, or with a patch for a replica that
// has an older version; see replica.Publisher.
func (s *server) getFilter(w http.ResponseWriter, r *http.Request) {
	v := s.now.Load()
	if v.guava == nil {
		text := fmt.Sprintf("a %s cannot be sent in the form of a Guava filter", v.report.Type)
		http.Error(w, text, http.StatusNotFound)
		return
	}
	release, err := acquire(s.downloads)
	defer release()
	if err != nil {
		refuse(w, err)
		return
	}
	p := s.follow()
	if p == nil { // A reload has changed the type.
		refuse(w, errBusy)
		return
	}
	setWriteTime(w, p.Version().Size)
	p.ServeHTTP(w, r)
}

// follow returns the publisher of the current version. If there is none, follow makes one, and load
// then publishes each new version. For a type that /filter does not serve, follow returns nil.
func (s *server) follow() *publish.Publisher {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	v := s.now.Load()
	if s.publisher == nil && v.guava != nil {
		s.publisher = publish.NewExact()
		s.publisher.Publish(v.guava(), true, v.made)
	}
	return s.publisher
}
