package commands

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"maestro/events"
	"maestro/projections"
)

// Permit returns nil if the table lets the actor use this command in this project, otherwise the refusal. Decide checks
// what the table does not cover (whose session, which task). project is "" for things that belong to none.
func Permit(s *projections.State, t *Table, by Actor, id, project string) error {
	row, ok := t.Row(id)
	if !ok {
		return UnknownCommand(id)
	}
	switch by.Kind {
	case ActorUser:
		return permitUser(s, by, row, project)
	case ActorSession:
		return permitSession(s, t, by, row, project)
	case ActorRunner:
		if row.Who&RoleRunner != 0 {
			return permitRunner(s, by, row)
		}
	case ActorSystem:
		if row.Who&RoleSystem != 0 {
			return nil
		}
	}
	return denied(row.ID, id, "", "", Denied{Caller: by.String(), For: row.Who.String()})
}

// PermitAt is Permit for a command: it also refuses a token that has expired at the time of its event.
func PermitAt(s *projections.State, t *Table, c Call, id string) error {
	if err := Permit(s, t, c.By, id, c.Project); err != nil || c.By.Kind != ActorUser || c.By.Name == AdminName {
		return err
	}
	if token := s.Token(c.By.Name); token.Expired(c.At.UnixMilli()) {
		return notAllowed(id, "it expired at "+time.UnixMilli(token.ExpiresAt).UTC().Format(time.RFC3339),
			"ask for another one",
			"The token '%s' has expired", c.By.Name)
	}
	return nil
}

// PermitCommand is PermitAt for a command with its fields: what a session may use in its place depends on what it asks
// for.
func PermitCommand(s *projections.State, t *Table, c Call, command Command) error {
	err := PermitAt(s, t, c, command.ID())
	meant, several := command.(severalCommands)
	if err == nil || !several || c.By.Kind != ActorSession {
		return err
	}
	var refusal *Refusal
	x := s.Session(c.By.Name)
	if !errors.As(err, &refusal) || x == nil || x.Permissions == nil ||
		PermitListed(t, x.Role, x.Strategy, x.Permissions.Commands, command.ID()) == nil {
		return err
	}
	instead, d := *refusal, Denied{}
	if refusal.Denied != nil {
		d = *refusal.Denied
	}
	instead.Denied = &d
	instead.Next, d.Instead = t.instead(RoleSetOf(x.Role, x.Strategy), x.Permissions.Commands, meant.means())
	return &instead
}

// severalCommands is a command that can do what others do. means returns the one whose alternatives its caller needs.
type severalCommands interface{ means() string }

func permitUser(s *projections.State, by Actor, row Row, project string) error {
	s.Worked(len(by.Projects) / namesPerStep)
	switch {
	case row.Who&RoleUser == 0:
		next := "see `maestro commands`"
		if row.Who&agents != 0 && by.Access == AccessAdmin && row.ID != ReceivesMail {
			next = "run it as the session: `" + asSession(row.ID) + "`"
		}
		return denied(row.ID, row.ID, "", next, Denied{Caller: "a user", For: row.Who.String()})
	case by.Name != AdminName && !knownToken(s, by):
		return notAllowed(row.ID, "the token was revoked, or it was never created", "ask for another one",
			"The token '%s' is not valid", by.Name)
	case by.Access == AccessAdmin:
		return nil
	case row.Write:
		return denied(row.ID, row.ID, "a token of kind "+string(by.Access)+" writes nothing", "use an admin token",
			Denied{Caller: fmt.Sprintf("the %s token '%s'", by.Access, by.Name)})
	case by.Access == AccessAuditor:
		return nil
	case by.Access == AccessReadOnly && !isServerWide(row.ID) &&
		(project == "" || slices.Contains(by.Projects, project)):
		return nil
	case isServerWide(row.ID):
		return denied(row.ID, row.ID, "it reads the whole server, and a read-only token reads its own projects",
			"use an admin or auditor token", Denied{Caller: "the token '" + by.Name + "'"})
	}
	return denied(row.ID, row.ID, "a read-only token reads its own projects",
		"list its projects with `maestro project list`, and name one with --project",
		Denied{Caller: "the token '" + by.Name + "' here"})
}

// isServerWide reports whether a row is about the whole server, not about what is in its projects.
func isServerWide(id string) bool {
	return strings.HasPrefix(id, "audit:") || strings.HasPrefix(id, "token:") || strings.HasPrefix(id, "runner:") ||
		strings.HasPrefix(id, "webhook:")
}

// knownToken reports whether a named token is valid: it has the rights that its bearer claims, and was not replaced by
// a later token of its name.
func knownToken(s *projections.State, by Actor) bool {
	token := s.Token(by.Name)
	return token != nil && token.Live() && token.Generation == by.Generation && Access(token.Kind) == by.Access
}

func permitSession(s *projections.State, t *Table, by Actor, row Row, project string) error {
	x := s.Session(by.Name)
	if x == nil && s.SessionEver(by.Name) != nil {
		return notAllowed(row.ID, "a user deleted it while its agent was at work",
			"stop: nothing that you do is accepted", "Session '%s' was deleted", by.Name)
	}
	if x == nil || x.Permissions == nil || x.ProjectID != by.Project {
		return notAllowed(row.ID, "a session whose permissions are unknown may do nothing",
			"ask whoever runs it to spawn the session again",
			"Session '%s' has no known permissions", by.Name)
	}
	if by.Generation != 0 && by.Generation != x.Generation {
		return notAllowed(row.ID, "the session has a new one", "use the session's new secret",
			"The secret of session '%s' was revoked", by.Name)
	}
	// Its end comes first: what its list says no longer matters, and no other command is a way out.
	id := t.canonical(row.ID)
	if row.Write && x.Ended() && !isReport(id) {
		return notAllowed(row.ID, WhyOnlyLate, NextAfterEnd, "%s", HasEnded(x))
	}
	if !row.Write && x.Ended() && !slices.Contains(afterEnd, id) {
		return notAllowed(row.ID, WhyReadsAfterEnd, NextAfterEnd, "%s", HasEnded(x))
	}
	switch err := PermitListed(t, x.Role, x.Strategy, x.Permissions.Commands, row.ID); {
	case err != nil && x.Ended():
		return notAllowed(row.ID, "after its end a session may use nothing that its list of commands lacks",
			NextAfterEnd, "%s", HasEnded(x))
	case err != nil:
		return err
	}
	if project != "" && project != x.ProjectID && !createdProject(s, x, project) &&
		!row.beyond.reaches(s, x, project) {
		return notAllowed(row.ID, "a session works in its own project only", "its project is "+x.ProjectID,
			"Session '%s' may not touch project '%s'", by.Name, project)
	}
	return nil
}

// permitRunner refuses a supervisor whose session is gone, or has another secret by now.
func permitRunner(s *projections.State, by Actor, row Row) error {
	if by.Speaks == "" {
		return nil
	}
	x := s.Session(by.Speaks)
	switch {
	case x == nil:
		return notAllowed(row.ID, "a user deleted it, or it never existed", "end its agent",
			"There is no session '%s'", by.Speaks)
	case by.Generation != 0 && by.Generation != x.Generation:
		return notAllowed(row.ID, "the session was resumed, or its secret was revoked",
			"end its agent: another run may be at work",
			"The credential of runner '%s' for session '%s' was revoked", by.Name, by.Speaks)
	}
	return nil
}

// WhyReadsAfterEnd says why a session that has ended may not read or wait for something.
const WhyReadsAfterEnd = "after its end a session may read only itself with its mail, its own tasks and its own " +
	"questions, and waits for nothing"

// afterEnd lists the reads that a session may still use after its end: about itself, its own tasks and its own
// questions. Each read decides what belongs to the session.
var afterEnd = []string{"whoami", "commands", "task:get", "session:info"}

// ReceivesMail is a command that every session may use, whatever its permissions: without it, its mail would be shown
// repeatedly.
const ReceivesMail = "input:received"

// PermitListed is the part of Permit that a session's frozen permissions answer alone: nil, or the refusal. It permits
// ids that are not in the table.
func PermitListed(t *Table, role events.Role, strategy events.Strategy, allowed []string, id string) error {
	row, ok := t.Row(id)
	if !ok {
		return nil
	}
	column, canonical := RoleSetOf(role, strategy), t.canonical(id)
	if slices.Contains(allowed, canonical) && t.MayList(column, canonical) == "" {
		return nil
	}
	if thirdOn(t.Version) && canonical == ReceivesMail {
		return nil
	}
	d := Denied{Caller: fmt.Sprintf("%s (%s strategy)", role, strategy)}
	if row.Who&column == 0 {
		d.For = row.Who.String()
	}
	next, instead := t.instead(column, allowed, id)
	d.Instead = instead
	return denied(id, id, "the session's list of commands does not contain it", next, d)
}

// beyond says where a session may use a command besides its own project and those that it created: sessions that
// spawned each other may work in different ones.
type beyond int

const (
	nowhere              beyond = iota
	whereItsSpawnerWorks        // to write to the session that spawned it
	whereThoseBelowWork         // to end those below it
)

func (b beyond) reaches(s *projections.State, x *projections.Session, project string) bool {
	switch b {
	case whereItsSpawnerWorks:
		return x.SpawnedBy != "" && s.SessionProject(x.SpawnedBy) == project
	case whereThoseBelowWork:
		p := s.Project(project)
		if p == nil {
			return false
		}
		_, maker, ok := projections.SessionOfSource(p.CreatedBy)
		return ok && s.LedBelow(maker, x.ID)
	case nowhere:
	}
	return false
}

// createdProject reports whether an orchestrator works in a project that it created itself.
func createdProject(s *projections.State, x *projections.Session, project string) bool {
	p := s.Project(project)
	return p != nil && x.Role == events.RoleOrchestrator && p.CreatedBy == x.Source()
}

func isReport(id string) bool { return strings.HasPrefix(id, "report:") }
