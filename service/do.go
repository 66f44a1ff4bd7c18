package service

import (
	"context"
	"strings"
	"time"

	"maestro/commands"
	"maestro/engine"
	"maestro/events"
	"maestro/projections"
	"maestro/service/wire"
)

// Call is a command as an interface hands it over: its body is not read yet.
type Call struct {
	// ID is the command's id in the permission table.
	ID string
	// Length is the body's, below 0 if it is not known.
	Length int64
	// Body gives the body, a JSON object of the command's fields. It is called once the caller may send one, and Drop
	// instead where it may not.
	Body func() ([]byte, error)
	Drop func()
	Options
}

// Done is what a command came to.
type Done struct {
	engine.Answer
	// Token is the secret that the command made, for its caller alone; "" if it made none.
	Token string
	// Below tells of the sessions below the one that the command ended or revoked.
	Below Below
	// Start is what queue:start gave; nil for any other command.
	Start *wire.Start
	// Revoked is what a revoked token leaves behind; nil for any other command.
	Revoked *wire.Revoked
}

// Do brings a command through: it permits early, reads and parses the body, gives a session its manifest, holds the
// command against the quotas, and waits if that is asked for. The caller's Meta comes with it. It fails with a
// *Problem, a *commands.Refusal, or what engine.Handler.Do fails with.
func (s *Service) Do(ctx context.Context, c *Caller, a Call) (Done, error) {
	leave, err := s.admitted(ctx, c, Demand{Writes: true, Bytes: max(a.Length, 0)})
	if err != nil {
		return Done{}, err
	}
	defer leave()
	if err := c.Meta.CheckKept(a.ID); err != nil {
		return Done{}, err
	}
	if err := s.PermitEarly(ctx, c, a.ID, a.Length); err != nil {
		a.Drop()
		return Done{}, s.refusedEarly(ctx, c, err, a.DryRun)
	}
	body, err := a.Body()
	if err != nil {
		return Done{}, err
	}
	command, err := commands.ParseContext(ctx, a.ID, body)
	if err != nil {
		return Done{}, s.permissionFirst(ctx, c, a.ID, a.DryRun, err)
	}
	if err := s.withManifest(ctx, c, command, a.DryRun); err != nil {
		return Done{}, err
	}
	if strings.HasPrefix(a.ID, "template:") && s.Permit(c, a.ID, "") == nil {
		if err := s.CheckTemplate(command); err != nil {
			return Done{}, err
		}
	}
	if deletion, ok := command.(*commands.DeleteTask); ok {
		deletion.Whole = true
	}
	if err := checkTree(command, a.Options); err != nil {
		return Done{}, err
	}
	return s.decide(ctx, c, c.By, command, "", a)
}

// decide holds a command against the quotas, asks the Handler, and does what follows from its answer.
func (s *Service) decide(
	ctx context.Context, c *Caller, by commands.Actor, command commands.Command, suffix string, a Call,
) (done Done, err error) {
	request := engine.Request{
		By:          by,
		Command:     command,
		Key:         c.Meta.Key + suffix,
		OccurredAt:  c.Meta.OccurredAt,
		TraceParent: c.Meta.TraceParent,
		Worked:      c.admission.worked,
	}
	if err := s.within(ctx, c, request, a.DryRun); err != nil {
		return Done{}, err
	}
	if err := s.severalBelow(ctx, c, request, a.Options); err != nil {
		return Done{}, err
	}
	done.Answer, err = s.bring(ctx, c, request, a.DryRun)
	c.admission.unused(done.Answer, err)
	if s.revokedSince(c, err) {
		return Done{}, revokedMeanwhile()
	}
	if err == nil {
		done.Below, err = s.below(ctx, c, request, a.Options)
	}
	if a.DryRun {
		return done, err
	}
	s.placeManifest(ctx, done.Data)
	start, ok := request.Command.(*commands.StartItem)
	if ok && a.Wait > 0 && err == nil && done.Event == nil {
		if err := s.beginWait(ctx, c); err != nil {
			return Done{}, err
		}
		done.Answer, err = s.waitForItem(ctx, c, request, start, a.Wait)
	}
	if err == nil {
		done.Token = s.tokenFor(c, a.ID, done.Answer)
	}
	if err == nil && ok {
		done.Start = s.startOf(c, start, done.Answer)
	}
	if name := ofToken(request.Command); err == nil && name != "" {
		done.Revoked = s.revokedOf(ctx, c, name, done.Data)
	}
	return done, err
}

// Apply brings one command of a request through that an interface made of something else. A request of several gives
// each a suffix that depends on its body alone, so that a retry is recognised. A spawn gets its manifest.
func (s *Service) Apply(
	ctx context.Context, c *Caller, by commands.Actor, command commands.Command, suffix string,
) (Done, error) {
	leave, err := s.admitted(ctx, c, Demand{Writes: true})
	if err != nil {
		return Done{}, err
	}
	defer leave()
	if c.Anonymous && by.Name != c.By.Name && s.Leases != nil && by.Kind == commands.ActorSession {
		if err := s.Leases.Heard(ctx, by.Name); err != nil {
			return Done{}, err
		}
	}
	if err := s.withManifest(ctx, c, command, false); err != nil {
		return Done{}, err
	}
	return s.decide(ctx, c, by, command, suffix, Call{ID: command.ID()})
}

// Options are what a caller asks of a command beside its fields: to try it only, to do it to the sessions below too, to
// wait for an item.
type Options struct {
	DryRun, Tree bool
	Wait         time.Duration
}

// waitForItem asks again for an item when it is this call's turn; several may wait, and each item gives one of them its
// turn. It asks once more when its time is over. Each time is paid for before it is waited for.
func (s *Service) waitForItem(
	ctx context.Context, c *Caller, request engine.Request, start *commands.StartItem, wait time.Duration,
) (engine.Answer, error) {
	session := start.SessionID
	if session == "" {
		session = c.By.Name
	}
	var project, queue string
	s.Handler.View(func(state *projections.State) {
		if x := state.Session(session); x != nil {
			project, queue = x.ProjectID, x.Queue
		}
	})
	over := func(state *projections.State) bool {
		x, q := state.Session(session), state.Queue(project, queue)
		return x == nil || q == nil || q.Finished() || state.Gone(session) != "" || state.Holds(x) != nil
	}
	until := time.Now().Add(wait)
	for {
		if err := s.payAhead(ctx, c, 1); err != nil {
			return engine.Answer{}, err
		}
		turn, err := s.awaitItem(ctx, c, time.Until(until), project, queue, over,
			engine.Key{Kind: projections.KindSession, ID: session},
			engine.Key{Kind: projections.KindQueueItem, ID: session})
		if err != nil {
			return engine.Answer{}, err
		}
		answer, err := s.askInTurn(ctx, c, request, turn)
		ended := false
		s.Handler.View(func(state *projections.State) { ended = over(state) })
		if err != nil || answer.Event != nil || ended || time.Until(until) <= 0 {
			return answer, err
		}
	}
}

// askInTurn asks for an item, and ends the turn if there is one.
func (s *Service) askInTurn(
	ctx context.Context, c *Caller, request engine.Request, turn *engine.Turn,
) (engine.Answer, error) {
	if turn != nil {
		defer turn.End()
	}
	return s.bring(ctx, c, request, false)
}

// tokenFor gives the secret that an answer shows. The caller of a retry is shown it only while it may use the command,
// in the project of its event.
func (s *Service) tokenFor(c *Caller, id string, answer engine.Answer) string {
	token := s.tokenOf(answer.Data)
	if token == "" || !answer.Retried {
		return token
	}
	event, err := events.Decode(answer.Event)
	if err != nil || s.Permit(c, id, event.Project) != nil {
		return ""
	}
	return token
}

// tokenOf gives the secret of the session that a command made; "" if it made none. It is made from the event, so that a
// retry answers the same.
func (s *Service) tokenOf(data events.Data) string {
	switch d := data.(type) {
	case *events.SessionSpawned:
		return SessionToken(s.Keys.ServerKey, d.SessionID, FirstGeneration)
	case *events.SessionRegistered:
		if d.Created != nil {
			return SessionToken(s.Keys.ServerKey, d.SessionID, FirstGeneration)
		}
	case *events.TokenCreated:
		return NamedToken(s.Keys.ServerKey, d.Name, d.Generation)
	case *events.TokenRevoked:
		if d.SessionID != "" {
			return SessionToken(s.Keys.ServerKey, d.SessionID, d.Generation)
		}
	}
	return ""
}
