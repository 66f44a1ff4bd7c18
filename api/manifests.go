package api

import (
	"errors"
	"io"
	"net/http"

	"maestro/commands"
	"maestro/engine"
	"maestro/events"
	"maestro/projections"
	"maestro/service"
	"maestro/workers/manifest"
)

const (
	manifestsPath = "/api/manifests"
	// maxManifest is the longest manifest that is taken.
	maxManifest = 16 << 20
)

func (s *server) manifestRoutes() {
	s.mux.HandleFunc("GET /api/manifests/schema", s.manifestSchema)
	s.mux.HandleFunc("GET /api/sessions/{id}/manifest", s.sessionManifest)
}

// storedManifest answers an upload.
type storedManifest struct {
	Digest   string          `json:"digest"`
	Role     events.Role     `json:"role"`
	Strategy events.Strategy `json:"strategy"`
	TaskIDs  []string        `json:"taskIds"`
	Commands []string        `json:"allowedCommands"`
}

// storeManifest is POST /api/manifests: it checks a manifest that was written by hand and keeps it, for a spawn to
// name.
func (s *server) storeManifest(w http.ResponseWriter, r *http.Request, c *call) {
	if err := s.mayStore(c); err != nil {
		s.fail(w, r, err)
		return
	}
	if contentType := r.Header.Get("Content-Type"); !isJSON(contentType) {
		s.fail(w, r, notJSON(contentType))
		return
	}
	document, err := readManifest(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	m, err := manifest.Parse(document)
	if err != nil {
		s.fail(w, r, invalidManifest(err))
		return
	}
	if err := s.ofOwnProject(c, "manifest:generate", m); err != nil {
		s.fail(w, r, err)
		return
	}
	if s.Blobs == nil {
		s.fail(w, r, service.NotFound("Blob", "store of this server"))
		return
	}
	canonical := m.Canonical()
	if over := c.admission.pay(demand{useUploads: float64(len(canonical))}); over != nil {
		holdBack(r.Context())
		s.fail(w, r, s.tooMuch(c.By.String(), over))
		return
	}
	digest, err := s.Blobs.PutBlob(r.Context(), canonical)
	if err != nil {
		s.fail(w, r, &engine.UnavailableError{Why: "the manifest could not be stored", Next: "try again", Err: err})
		return
	}
	axes := m.Axes()
	s.show(w, r, storedManifest{digest, m.Role, axes.Strategy, m.TaskIDs(), axes.Commands})
}

// mayStore asks the table, and of a user's token that it may write: a row without an event is a read to the table.
func (s *server) mayStore(c *call) error {
	const row = "manifest:generate"
	if err := s.Permit(c.Caller, row, ""); err != nil {
		return err
	}
	if c.By.Kind == commands.ActorUser && c.By.Access != commands.AccessAdmin {
		return &commands.Refusal{
			Code: commands.CodeNotAllowed,
			Rule: row,
			Message: "Command '" + row + "' is not allowed for the " + string(c.By.Access) + " token '" + c.By.Name +
				"'",
			Why:  "a token of kind " + string(c.By.Access) + " writes nothing",
			Next: "use an admin token",
		}
	}
	return nil
}

// readManifest reads the body of an upload whole.
func readManifest(r *http.Request) ([]byte, error) {
	tooLarge := func() error {
		drain(r, maxDrained)
		return &service.Problem{
			Kind: service.KindTooLarge, Code: "TOO_LARGE", Message: "The manifest is larger than 16 MiB",
			Why: "a manifest has at most 16 MiB", Next: "say less, or split its tasks among sessions",
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
			Code:    "VALIDATION_ERROR",
			Message: "The body is cut: it ends before it is complete",
			Why:     "the connection brought fewer bytes than announced",
			Next:    "send it again",
		}
	case len(document) > maxManifest:
		return nil, tooLarge()
	}
	return document, nil
}

// invalidManifest is the answer to a manifest that is none, with every fault.
func invalidManifest(err error) error {
	var invalid *manifest.InvalidError
	if !errors.As(err, &invalid) {
		return err
	}
	return &service.Problem{
		Kind: service.KindRule, Domain: true,
		Code:    "INVALID_MANIFEST",
		Message: invalid.Error(),
		Why:     "each fault is in details.errors, with its place",
		Next:    "see GET /api/manifests/schema, or `maestro manifest schema`",
		Details: invalid,
	}
}

// ofOwnProject lets a session name only what is of projects that it works in: who names a manifest may read it.
func (s *server) ofOwnProject(c *call, row string, m *manifest.Manifest) error {
	if c.By.Kind != commands.ActorSession {
		return nil
	}
	for _, t := range m.Tasks {
		if err := s.Permit(c.Caller, row, t.ProjectID); err != nil {
			return err
		}
	}
	return nil
}

func (s *server) manifestSchema(w http.ResponseWriter, _ *http.Request) {
	header := w.Header()
	header.Set("Content-Type", "application/schema+json")
	header["Maestro-Sequence"] = []string{sequenceText(s.Head())}
	s.write(w, manifest.Schema())
}

// sessionManifest gives the manifest that a session was given.
func (s *server) sessionManifest(w http.ResponseWriter, r *http.Request) {
	c := callOf(r.Context())
	id := r.PathValue("id")
	var digest string
	var err error
	s.Handler.View(func(state *projections.State) {
		v := s.At(state, c.Caller)
		var x *projections.Session
		if c.By.Kind == commands.ActorSession && id == c.By.Name {
			x, err = v.PermitSession("whoami", id) // its own, whatever its list says
		} else {
			x, err = v.PermitSession("session:info", id)
		}
		if err == nil {
			digest = x.ManifestDigest
		}
	})
	if err == nil && digest == "" {
		err = service.NotFound("Manifest of session", id)
	}
	var content []byte
	if err == nil {
		content, err = s.ReadBlob(r.Context(), digest)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	header := w.Header()
	header["Content-Type"] = s.jsonType
	header.Set("Maestro-Digest", digest)
	header["Maestro-Sequence"] = []string{sequenceText(s.Head())}
	s.raw(w, r, content)
}
