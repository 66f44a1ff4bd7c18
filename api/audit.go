package api

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"maestro/api/export"
	"maestro/api/route"
	"maestro/engine"
	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
	"maestro/service"
	"maestro/service/wire"
)

// flushEvery is how many bytes of an export are gathered before they are sent.
const flushEvery = 64 << 10

func (s *server) auditRoutes() {
	route.Read(s.mount(), route.Route{
		Path:    "/api/audit/head",
		Name:    "audit-head",
		Summary: "The log's head: sequence and hash, to be kept elsewhere",
	}, auditHead)
	s.mux.HandleFunc("GET /api/audit/export", s.open(s.auditExport))
	s.mux.HandleFunc("GET /api/audit/verify", s.open(s.auditVerify))
	s.mux.HandleFunc("GET /api/audit/texts", s.open(s.auditTexts))
}

func auditHead(v service.View, _ *struct{}) (events.Head, error) {
	return v.Head(), v.Permit("audit:head", "")
}

const exportRefused = "No export was made"

// exportRange is what an export covers.
type exportRange struct {
	project  string
	from, to uint64
	// part says that the caller named the last event: then the export does not stand for the whole log.
	part bool
}

// auditExport streams the log, one line a message. Of a single project, the bodies of others are replaced by their
// hashes.
func (s *server) auditExport(w http.ResponseWriter, r *http.Request) {
	wanted, err := s.exportRange(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "application/x-ndjson")
	header["Maestro-Sequence"] = []string{sequenceText(wanted.to)}
	if !wanted.part {
		if err := s.WholeLog(r.Context(), exportRefused); err != nil {
			s.fail(w, r, err)
			return
		}
	}
	out := &counter{to: w}
	buffer := make([]byte, 0, flushEvery+events.MaxBody)
	var decoder events.Decoder
	send := func() error {
		_, err := out.Write(buffer)
		buffer = buffer[:0]
		return err
	}
	if wanted.from <= wanted.to {
		err = s.Log.Read(r.Context(), wanted.from, wanted.to, func(m events.Message) error {
			buffer = appendExport(buffer, m, &decoder, wanted.project)
			if len(buffer) < flushEvery {
				return r.Context().Err()
			}
			return send()
		})
	}
	if err == nil {
		err = send()
	}
	if err != nil {
		err = s.NotWhole(r.Context(), exportRefused, err)
		s.breakOff(w, r, out.written > 0, err)
	}
}

// appendExport appends a message's line. One that cannot be read is exported as it is: an audit is there to show it.
func appendExport(b []byte, m events.Message, decoder *events.Decoder, project string) []byte {
	body := events.BodyHash(m.Body)
	event, err := decoder.Decode(m.Body)
	if err != nil {
		return export.Append(b, m, events.Hash{})
	}
	hash := events.Next(event.PrevHash, body)
	if project != "" && event.Project != project {
		return export.AppendWithheld(b, m.Sequence, hash, event.PrevHash, body)
	}
	return export.Append(b, m, hash)
}

func (s *server) exportRange(r *http.Request) (exportRange, error) {
	query := r.URL.Query()
	wanted := exportRange{project: query.Get("project"), from: 1}
	c := callOf(r.Context())
	var err error
	s.Handler.View(func(state *projections.State) {
		wanted.to = state.Head().Sequence
		err = s.At(state, c.Caller).Permit("audit:export", "")
		if err == nil && wanted.project != "" && !state.ProjectExisted(wanted.project) {
			err = &service.Problem{
				Kind:    service.KindNotFound,
				Code:    "NOT_FOUND",
				Message: "Project with id '" + safetext.Printable(wanted.project) + "' not found",
				Why:     "it never existed",
				Next:    "list what exists with `maestro project list`",
			}
		}
	})
	if err != nil {
		return wanted, err
	}
	for name, bound := range map[string]*uint64{"from": &wanted.from, "to": &wanted.to} {
		text := query.Get(name)
		if text == "" {
			continue
		}
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil || n == 0 {
			return wanted, service.InvalidRequest("", name+" must be a sequence, not '"+safetext.Printable(text)+"'")
		}
		if name == "to" {
			n, wanted.part = min(n, wanted.to), true
		}
		*bound = n
	}
	return wanted, nil
}

// auditVerify decides the whole log again up to the present head, and holds the result against a head kept elsewhere
// and against the live views.
func (s *server) auditVerify(w http.ResponseWriter, r *http.Request) {
	verdict, err := s.verify(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.show(w, r, verdict)
}

// auditTexts holds every long text that the log names against its digest.
func (s *server) auditTexts(w http.ResponseWriter, r *http.Request) {
	c := callOf(r.Context())
	var to uint64
	var err error
	s.Handler.View(func(state *projections.State) {
		to = state.Head().Sequence
		err = s.At(state, c.Caller).Permit("audit:verify", "")
	})
	if err == nil && s.Blobs == nil {
		err = service.NotFound("Texts", "of this server")
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	named, err := engine.NamedTexts(r.Context(), s.Log, to)
	var lost []engine.LostText
	if err == nil {
		lost, err = engine.LostTexts(r.Context(), s.Blobs, named)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	listed := min(len(lost), pageUsual)
	s.show(w, r, wire.Texts{Named: len(named), Lost: lost[:listed], LostMore: len(lost) - listed})
}

func (s *server) verify(r *http.Request) (engine.Verdict, error) {
	c := callOf(r.Context())
	var err error
	s.Handler.View(func(state *projections.State) { err = s.At(state, c.Caller).Permit("audit:verify", "") })
	if err != nil {
		return engine.Verdict{}, err
	}
	from, err := parseHead(r.URL.Query().Get("from"))
	if err != nil {
		return engine.Verdict{}, err
	}
	// The witnesses first: none of them is then ahead of what is judged.
	witnesses, err := s.Handler.Witnesses(r.Context())
	if errors.Is(err, events.ErrReadOnly) {
		return engine.Verdict{}, &service.Problem{
			Kind:    service.KindUnavailable,
			Code:    "UNAVAILABLE",
			Message: "The log cannot be audited",
			Why:     err.Error(),
			Next:    engine.Advice(err),
		}
	}
	if err != nil {
		return engine.Verdict{}, err
	}
	if from != nil {
		witnesses = append(witnesses, engine.Witnessed{Head: *from, By: "your head", Brought: true})
	}
	var image *projections.Image
	s.Handler.View(func(state *projections.State) { image = state.Image() })
	verdict, damage, err := verifyLog(r.Context(), s.Log, s.Blobs, image, witnesses, s.Handler.Health())
	if damage != nil {
		s.Handler.StopWrites(damage)
	}
	return verdict, err
}

// errJudged ends the reading of a log behind which nothing can be judged.
var errJudged = errors.New("nothing behind this can be judged")

// verifyLog judges a log, and the long texts that it names, up to where an image of the live state was taken.
// health is why the server takes no writes, if so. It gives what shows that the log is damaged, if anything does.
func verifyLog(
	ctx context.Context, log engine.Log, texts engine.Texts, image *projections.Image, witnesses []engine.Witnessed,
	health error,
) (verdict engine.Verdict, damage, err error) {
	verifier := engine.NewVerifier()
	for _, seen := range witnesses {
		verifier.Witness(seen)
	}
	until := image.Head()
	if until.Sequence > 0 {
		var last uint64
		err := log.Read(ctx, 1, until.Sequence, func(m events.Message) error {
			last = m.Sequence
			if !verifier.Event(m) {
				return errJudged
			}
			return nil
		})
		var damage *events.DamageError
		switch {
		case errors.As(err, &damage):
			verifier.Fault(damage.Sequence, engine.FaultMissing, "%s", damage.Why)
			verifier.Skip(max(last, damage.Sequence)+1, until.Sequence)
		case errors.Is(err, errJudged):
			verifier.Skip(last+1, until.Sequence)
		case err != nil:
			return engine.Verdict{}, nil, err
		}
	}
	tellShortened(verifier, until.Sequence, witnesses, health)
	if verifier.Damage() == nil { // else the views are of more than the log that is left
		if err := compareViews(verifier, image); err != nil {
			return engine.Verdict{}, nil, err
		}
	}
	if texts != nil {
		if err := verifier.CheckTexts(ctx, texts); err != nil {
			return engine.Verdict{}, nil, err
		}
	}
	verdict, err = verifier.Verdict()
	return verdict, verifier.Damage(), err
}

// tellShortened notes that the server knows of events behind the last one that can be read, where no witness tells so:
// the note of a clean stop remembers where the log ended, and no hash.
func tellShortened(verifier *engine.Verifier, last uint64, witnesses []engine.Witnessed, health error) {
	var known *events.DamageError
	if !errors.As(health, &known) || known.Sequence <= last {
		return
	}
	for _, seen := range witnesses {
		if seen.Sequence > last {
			return
		}
	}
	verifier.Fault(known.Sequence, engine.FaultWitness, "%s", known.Why)
}

// compareViews holds the rebuilt views against the live ones, byte for byte.
func compareViews(verifier *engine.Verifier, image *projections.Image) error {
	live, err := image.Encode()
	if err != nil {
		return err
	}
	rebuilt, err := verifier.State().Encode()
	if err != nil {
		return err
	}
	if !bytes.Equal(live, rebuilt) {
		verifier.Fault(image.Head().Sequence, engine.FaultViews,
			"the live views (%s) are not what the log comes to (%s)", events.BodyHash(live), events.BodyHash(rebuilt))
	}
	return nil
}

// parseHead reads SEQ:HASH; nil for "".
func parseHead(text string) (*events.Head, error) {
	if text == "" {
		return nil, nil
	}
	number, digits, _ := strings.Cut(text, ":")
	sequence, err := strconv.ParseUint(number, 10, 64)
	if err != nil || sequence == 0 {
		return nil, service.InvalidRequest("", "from must be SEQUENCE:HASH, not '"+safetext.Printable(text)+"'")
	}
	hash, err := events.ParseHash(digits)
	if err != nil {
		return nil, service.InvalidRequest("", "from must be SEQUENCE:HASH: "+err.Error())
	}
	return &events.Head{Sequence: sequence, Hash: hash}, nil
}
