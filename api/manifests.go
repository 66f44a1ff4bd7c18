package api

import (
	"errors"
	"io"
	"net/http"

	"maestro/commands"
	"maestro/service"
	"maestro/service/wire"
	"maestro/workers/manifest"
)

const (
	manifestsPath   = "/api/manifests"
	generatePattern = "POST /api/manifests/generate"
	// maxManifest is the maximum size of a manifest.
	maxManifest = 16 << 20
)

func (s *server) manifestRoutes() {
	s.handle("GET /api/manifests/schema", "The JSON Schema of manifests", s.manifestSchema)
	s.handle("GET /api/sessions/{id}/manifest", "A session's manifest", s.sessionManifest)
	s.handle(generatePattern, "Generate a manifest", s.generateManifest)
}

// generateManifest generates a manifest and stores nothing.
func (s *server) generateManifest(w http.ResponseWriter, r *http.Request) {
	c := callOf(r.Context())
	var in wire.NewManifest
	err := commands.ReadBody(r.Context(), c.body, &in)
	var m *manifest.Manifest
	if err == nil {
		m, err = s.GenerateManifest(r.Context(), c.Caller, &in)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	header := w.Header()
	header["Content-Type"] = s.jsonType
	header[wire.HeaderSequence] = []string{sequenceText(s.Head())}
	s.raw(w, r, m.Canonical())
}

// storeManifest is POST /api/manifests.
func (s *server) storeManifest(w http.ResponseWriter, r *http.Request, c *call) {
	stored, err := s.takeManifest(r, c)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.show(w, r, stored)
}

func (s *server) takeManifest(r *http.Request, c *call) (wire.StoredManifest, error) {
	if err := s.MayStoreManifest(c.Caller); err != nil {
		return wire.StoredManifest{}, err
	}
	if contentType := r.Header.Get("Content-Type"); !isJSON(contentType) {
		return wire.StoredManifest{}, notJSON(contentType)
	}
	document, err := readManifest(r)
	if err != nil {
		return wire.StoredManifest{}, err
	}
	return s.StoreManifest(r.Context(), c.Caller, document)
}

// readManifest reads the whole body of an upload.
func readManifest(r *http.Request) ([]byte, error) {
	tooLarge := func() error {
		drain(r, maxDrained)
		return &service.Problem{
			Kind:    service.KindTooLarge,
			Code:    string(commands.CodeTooLarge),
			Message: "The manifest is larger than 16 MiB",
			Why:     "a manifest has at most 16 MiB",
			Next:    "shorten it, or split its tasks among sessions",
		}
	}
	if r.ContentLength > maxManifest {
		return nil, tooLarge()
	}
	document, err := io.ReadAll(io.LimitReader(r.Body, maxManifest+1))
	switch {
	case errors.Is(err, service.ErrStopping), errors.As(err, new(*service.Problem)):
		return nil, err
	case err != nil:
		return nil, &service.Problem{
			Kind:    service.KindInvalid,
			Code:    string(commands.CodeInvalid),
			Message: "The body is truncated",
			Why:     "the connection delivered fewer bytes than announced",
			Next:    "send it again",
		}
	case len(document) > maxManifest:
		return nil, tooLarge()
	}
	return document, nil
}

func (s *server) manifestSchema(w http.ResponseWriter, r *http.Request) {
	if err := s.Permit(callOf(r.Context()).Caller, "manifest:schema", ""); err != nil {
		s.fail(w, r, err)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "application/schema+json")
	header[wire.HeaderSequence] = []string{sequenceText(s.Head())}
	s.write(w, manifest.Schema())
}

// sessionManifest answers with the manifest that a session was given.
func (s *server) sessionManifest(w http.ResponseWriter, r *http.Request) {
	content, digest, err := s.SessionManifest(r.Context(), callOf(r.Context()).Caller, r.PathValue("id"))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	header := w.Header()
	header["Content-Type"] = s.jsonType
	header.Set(wire.HeaderDigest, digest)
	header[wire.HeaderSequence] = []string{sequenceText(s.Head())}
	s.raw(w, r, content)
}
