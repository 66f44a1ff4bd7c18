package service

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"maestro/commands"
	"maestro/engine"
	"maestro/events"
	"maestro/projections"
	"maestro/service/wire"
)

// Call is a command as an interface passes it on: either with an unread body, or converted from a request of another
// form.
type Call struct {
	// ID is the command's id in the permission table. A converted command has its own.
	ID string
	// Length is the length of the body, negative if unknown.
	Length int64
	// Body returns the body, a JSON object of the command's fields. It is called once the caller may send one;
	// otherwise Drop is called.
	Body func() ([]byte, error)
	Drop func()
	// Command is the command that an interface converted from a request of another form, in place of ID, Length, Body
	// and Drop.
	Command commands.Command
	// By is on whose behalf such a request was made; the caller if it is zero. Only a caller without a credential may
	// act on behalf of another.
	By commands.Actor
	// Suffix distinguishes the commands of one request. It depends only on the request's body, so that a retry is
	// recognised.
	Suffix string
	Options

	// key is the key of one of several commands of the call; "" for the call's own.
	key string
}

// Done is the result of a command.
type Done struct {
	engine.Answer
	// Asked is the question that the session had asked already; "" if the command was executed.
	Asked string
	// Token is the secret that the command created, for its caller only; "" if there is none.
	Token string
	// Below lists the sessions below the one that the command ended or revoked.
	Below wire.Below
	// Team lists whom a message to a team reached; nil for any other command.
	Team *wire.Team
	// LeftOpen lists open tasks of a session that the command completed.
	LeftOpen wire.LeftOpen
	// Warnings are what the caller should know about the effects of the command.
	Warnings []string
	// Start is the result of queue:start; nil for any other command.
	Start *wire.Start
	// Revoked lists what a revoked token leaves behind; nil for any other command.
	Revoked *wire.Revoked
}

// Wire returns the answer in the form that every interface sends.
func (d Done) Wire(dryRun bool) wire.Done {
	return wire.Done{
		Outcome:  wire.Outcome{Sequence: d.Sequence, Event: d.Event},
		DryRun:   dryRun,
		Asked:    d.Asked,
		Token:    d.Token,
		Below:    d.Below,
		Team:     d.Team,
		LeftOpen: d.LeftOpen,
		Warnings: d.Warnings,
		Start:    d.Start,
		Revoked:  d.Revoked,
		Retried:  d.Retried,
	}
}

// Do executes a command; there is no other path to the Handler. It checks the permission early, reads and parses the
// body, gives a session its manifest, checks the quotas, and waits if requested. The caller's Meta accompanies the
// command. It fails with a *Problem, a *commands.Refusal, or as engine.Handler.Do fails.
func (s *Service) Do(ctx context.Context, c *Caller, a Call) (Done, error) {
	leave, err := s.admitted(ctx, c, Demand{Writes: true, Bytes: max(a.Length, 0)})
	if err != nil {
		return Done{}, err
	}
	defer leave()
	if a.Command != nil {
		a.ID = a.Command.ID()
	}
	if err := c.Meta.CheckKept(a.ID); err != nil {
		return Done{}, err
	}
	if a.By, err = s.speaker(ctx, c, a.By); err != nil {
		return Done{}, err
	}
	command := a.Command
	if command == nil {
		if command, err = s.read(ctx, c, a); err != nil {
			return Done{}, err
		}
	}
	if command, err = s.inherited(ctx, c, a.By, command); err != nil {
		return Done{}, err
	}
	generated, err := s.withManifest(ctx, c, command, a.DryRun)
	if err != nil {
		return Done{}, err
	}
	if strings.HasPrefix(a.ID, "template:") && s.Permit(c, a.ID, "") == nil {
		if err := s.checkTemplate(command); err != nil {
			return Done{}, err
		}
	}
	if err := s.mayRedact(ctx, c, command); err != nil {
		return Done{}, err
	}
	if strings.HasPrefix(a.ID, "webhook:") && s.Permit(c, a.ID, "") == nil {
		if err := s.checkWebhook(command); err != nil {
			return Done{}, err
		}
	}
	if err := checkTree(command, a.Options); err != nil {
		return Done{}, err
	}
	if err := checkAfter(command, a.Options); err != nil {
		return Done{}, err
	}
	if err := checkAll(command, a.Options); err != nil {
		return Done{}, err
	}
	if a.All {
		return s.toTeam(ctx, c, command, a)
	}
	return s.decide(ctx, c, command, generated, a)
}

// speaker returns on whose behalf a command is. It notes a session as heard on whose behalf a caller without a
// credential calls.
func (s *Service) speaker(ctx context.Context, c *Caller, by commands.Actor) (commands.Actor, error) {
	switch {
	case by.Kind == "" || by.Kind == c.By.Kind && by.Name == c.By.Name:
		return c.By, nil
	case !c.Anonymous:
		session := ""
		if by.Kind == commands.ActorSession {
			session = by.Name
		}
		return by, c.OtherIdentity(session)
	case by.Kind == commands.ActorSession && s.Leases != nil:
		return by, s.Leases.Heard(ctx, by.Name)
	}
	return by, nil
}

// read reads the body of a command, once its caller may send one.
func (s *Service) read(ctx context.Context, c *Caller, a Call) (commands.Command, error) {
	if err := s.PermitEarly(ctx, c, a.ID, a.Length); err != nil {
		a.Drop()
		return nil, s.refusedEarly(ctx, c, err, a.DryRun)
	}
	body, err := a.Body()
	if err != nil {
		return nil, err
	}
	command, err := commands.ParseContext(ctx, a.ID, body)
	if err != nil {
		return nil, s.permissionFirst(ctx, c, a.ID, a.DryRun, err)
	}
	switch x := command.(type) {
	case *commands.DeleteTask:
		x.Whole = true
	case *commands.SpawnSession:
		spawn, err := s.spawnLike(ctx, c, x)
		if err == nil {
			err = s.chooseQueue(ctx, c, spawn)
		}
		if err != nil {
			return nil, s.permissionFirst(ctx, c, a.ID, a.DryRun, err)
		}
		spawn.DefaultRunner = s.LocalRunner
		return spawn, nil
	}
	return command, nil
}

// decide checks a command against the quotas, passes it to the Handler, and does what follows from the answer.
// generated is the manifest that was generated for it, if any.
func (s *Service) decide(
	ctx context.Context, c *Caller, command commands.Command, generated []byte, a Call,
) (done Done, err error) {
	request := engine.Request{
		By:          a.By,
		Command:     command,
		Key:         cmp.Or(a.key, c.Meta.Key+a.Suffix),
		OccurredAt:  c.Meta.OccurredAt,
		Told:        c.Program && !c.delivered, // the command line prints it
		TraceParent: c.Meta.TraceParent,
		Share:       c.share(),
		Worked:      c.admission.worked,
	}
	if err := s.within(ctx, c, request, a.DryRun); err != nil {
		return Done{}, err
	}
	if err := s.severalBelow(ctx, c, request, a.Options); err != nil {
		return Done{}, err
	}
	if err := s.ifFinished(ctx, c, command, a.Options); err != nil {
		return Done{}, err
	}
	if a.IfFinished && endsItself(c, command) {
		request.If = onlyRead(c.By.Name)
	}
	if task := confirms(command); task != "" && c.By.Kind == commands.ActorSession && c.Program {
		request.If = onlyReadAbout(c.By.Name, task)
		if a.DryRun {
			if err := s.work(ctx, c, func(v View) error { return request.If(v.State) }); err != nil {
				return Done{}, unreadAbout()
			}
		}
	}
	if skip, ok := command.(*commands.SkipItem); ok {
		err := s.work(ctx, c, func(v View) error {
			if request.Known(v.State) { // a retry gets its answer
				return nil
			}
			return skip.NameHeld(v.State, a.By)
		})
		if err != nil {
			return Done{}, s.refusedEarly(ctx, c, err, a.DryRun)
		}
	}
	if err := s.ifNew(ctx, c, command, a.Options, &done); err != nil || done.Asked != "" {
		return done, err
	}
	undelivered := 0
	if resume, ok := command.(*commands.ResumeSession); ok && !a.DryRun {
		if undelivered, err = s.beforeResume(ctx, c, request, resume.SessionID); err != nil {
			return Done{}, err
		}
	}
	if len(a.After) > 0 {
		done.Answer, err = s.tryAfter(ctx, c, request, a.After)
	} else {
		done.Answer, err = s.execute(ctx, c, request, a.DryRun)
	}
	switch {
	case errors.Is(err, errUnread):
		err = cmp.Or(s.ifFinished(ctx, c, command, a.Options), unreadThen())
	case errors.Is(err, errUnreadAbout):
		err = unreadAbout()
	}
	c.admission.unused(done.Answer, err)
	if over := s.endedSince(c, err); over != nil {
		return Done{}, over
	}
	if err == nil {
		done.Below, err = s.below(ctx, c, request, a.Options)
	}
	if a.DryRun {
		if err == nil && commands.WarnsAhead(request.Command) {
			done.Warnings = s.warningsOf(ctx, c, request.Command, done.Answer)
		}
		if x, ok := request.Command.(*commands.RedactText); ok && err == nil {
			done.Warnings = append(done.Warnings, s.manifestOf(x.Text)...)
		}
		return done, err
	}
	s.placeManifest(ctx, done.Data, generated)
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
		done.Start = s.startOf(ctx, c, start, done.Answer)
	}
	if session := completedBy(done.Data); err == nil && session != "" {
		done.LeftOpen = s.leftOpen(ctx, c, session)
	}
	if err == nil && (done.Event != nil || commands.MayDrop(request.Command)) && !done.Retried {
		done.Warnings = s.warningsOf(ctx, c, request.Command, done.Answer)
	}
	if resumed, ok := done.Data.(*events.SessionResumed); ok && err == nil && !done.Retried && undelivered > 0 {
		done.Warnings = append(done.Warnings, leftUndelivered(resumed.SessionID, undelivered))
	}
	if strings.HasPrefix(a.ID, "webhook:") && err == nil && !done.Retried {
		done.Warnings = append(done.Warnings, s.warnOfWebhook(request.Command, done.Answer)...)
	}
	if x, ok := request.Command.(*commands.RedactText); ok && err == nil {
		done.Warnings = append(done.Warnings, s.removeRedacted(ctx, x.Text)...)
	}
	if name := revokedToken(request.Command); err == nil && name != "" {
		done.Revoked = s.revokedOf(ctx, c, name, done.Data)
	}
	return done, err
}

// Options are the options of a command besides its fields: a dry run, applying it to the sessions below too, or to a
// whole team, ending a session only if nothing is left to do for it, asking a question only if it is new, and waiting
// for an item.
type Options struct {
	DryRun, Tree, All, IfFinished, IfNew bool
	// After names the tasks to which a dry run of task:complete applies the command before.
	After []string
	Wait  time.Duration
}

// waitForItem asks again for an item when it is this call's turn. Several calls may wait, and each item gives one of
// them its turn. It asks once more when its time is over. It pays for each attempt before it waits.
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
		return x == nil || q == nil || state.Finished(q) || state.Gone(session) != "" || state.Holds(x) != nil
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
	return s.execute(ctx, c, request, false)
}

// tokenFor returns the secret that an answer shows. The caller of a retry sees it only while it may use the command in
// the project of its event, and while the secret is one of a living session or token.
func (s *Service) tokenFor(c *Caller, id string, answer engine.Answer) string {
	if spawned, ok := answer.Data.(*events.SessionSpawned); ok && spawned.Runner != "" &&
		c.By.Kind == commands.ActorSession {
		return "" // its runner launches it
	}
	token := s.tokenOf(answer.Data)
	if token == "" || !answer.Retried {
		return token
	}
	if strings.HasPrefix(token, WebhookSecretPrefix) {
		return s.webhookSecretNow(c, id, answer.Data, token)
	}
	event, err := events.Decode(answer.Event)
	if err != nil || s.Permit(c, id, event.Project) != nil {
		return ""
	}
	if of, err := s.Authenticate(token); err != nil || of.Ended || !s.exists(of) {
		return ""
	}
	return token
}

// exists reports whether a caller is a session that was not deleted, or a token.
func (s *Service) exists(c *Caller) (exists bool) {
	s.Handler.View(func(state *projections.State) {
		exists = c.By.Kind != commands.ActorSession || state.Session(c.By.Name) != nil
	})
	return exists
}

// tokenOf returns the secret of the session, token or webhook that a command created; "" if there is none. It derives
// the secret from the event, so that a retry returns the same.
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
	case *events.WebhookCreated:
		return s.webhookSecret(d.WebhookID, d.Generation)
	case *events.WebhookUpdated:
		if d.Generation > 0 {
			return s.webhookSecret(d.WebhookID, d.Generation)
		}
	case *events.TokenRevoked:
		if d.SessionID != "" {
			return SessionToken(s.Keys.ServerKey, d.SessionID, d.Generation)
		}
	}
	return ""
}
