package service

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"maestro/commands"
)

// The reasons why nothing bounds a resource for a class of callers. Each is intended.
const (
	theUsers    = "it is the user's own, who could stop the server as well"
	notNobody   = "its resource is for calls without a valid credential"
	mayNot      = "the table refuses it, whoever of them asks"
	notLetIn    = "the call is refused before it uses any"
	slowed      = "it is slowed down: TestIdentitiesAreSlowedDown"
	noLongRead  = "who has ended may not read the log: its call counts as any other, in parallel"
	connections = "each takes a connection, of which a project's are closed first where they run out"
)

// unboundedOnPurpose says, for a class of callers and a resource, why nothing bounds it.
var unboundedOnPurpose = map[string]map[resource]string{
	"session":       {useCalls: notNobody},
	"ended session": {useCalls: notNobody, useStreams: noLongRead},
	"reader token": {
		useCalls:   notNobody,
		useSpawns:  mayNot,
		useCreates: mayNot,
		useUploads: mayNot,
	},
	"auditor token": {
		useCalls:   notNobody,
		useSpawns:  mayNot,
		useCreates: mayNot,
		useUploads: mayNot,
	},
	"project": {useCalls: notNobody, useParallel: connections},
	"ended project": {
		useCalls:    notNobody,
		useParallel: connections,
		useStreams:  noLongRead,
	},
	"session by path": {useCalls: notNobody},
	"nobody": {
		useCommands:   notLetIn,
		useBytes:      notLetIn,
		useReads:      notLetIn,
		useSpawns:     notLetIn,
		useCreates:    notLetIn,
		useUploads:    notLetIn,
		useParallel:   notLetIn,
		useWaits:      notLetIn,
		useStreams:    notLetIn,
		useAnswers:    notLetIn,
		useBodies:     notLetIn,
		useIdentities: slowed,
	},
	"admin":       unboundedForTheUser,
	"admin token": unboundedForTheUser,
	"no auth":     unboundedForTheUser,
}

var unboundedForTheUser = map[resource]string{
	useCalls:      notNobody,
	useIdentities: notNobody,
	useCommands:   theUsers,
	useBytes:      theUsers,
	useReads:      theUsers,
	useSpawns:     theUsers,
	useCreates:    theUsers,
	useUploads:    theUsers,
}

// callersOfEachClass returns, for each class, a function that returns its callers one after another: for a project its
// sessions, for any other class always the same caller.
func callersOfEachClass() map[string]func(i int) *Caller {
	session := func(i int, ended bool) *Caller {
		by := commands.SessionActor("p", fmt.Sprint("s", i), commands.AuthnToken)
		return &Caller{By: by, Root: "p", Ended: ended}
	}
	token := func(access commands.Access) func(int) *Caller {
		return func(int) *Caller {
			return &Caller{By: commands.Actor{Kind: commands.ActorUser, Name: "t", Access: access}}
		}
	}
	return map[string]func(i int) *Caller{
		"session":       func(int) *Caller { return session(0, false) },
		"ended session": func(int) *Caller { return session(0, true) },
		"project":       func(i int) *Caller { return session(i, false) },
		"ended project": func(i int) *Caller { return session(i, true) },
		"session by path": func(int) *Caller {
			c := session(0, false)
			c.By.Authn, c.Anonymous = commands.AuthnNone, true
			return c
		},
		"reader token":  token(commands.AccessReadOnly),
		"auditor token": token(commands.AccessAuditor),
		"admin token":   token(commands.AccessAdmin),
		"admin":         func(int) *Caller { return &Caller{By: commands.Admin(commands.AuthnToken)} },
		"no auth":       func(int) *Caller { return &Caller{By: commands.Admin(commands.AuthnNone), Anonymous: true} },
	}
}

// onlyFor returns a ledger in which only one resource is bounded, by few, except for the server's total: that total
// does not protect other callers from one that uses all of it.
func onlyFor(r resource) *ledger {
	l := newLedger(&Limits{})
	for c := range classes {
		for other := range resources {
			q := l.quotas[c][other]
			switch {
			case other != r || c == classServer:
				q.Value = 0
			case q.Value > 0 && other < rates:
				q.Value, q.Burst = 0.001, few
			case q.Value > 0:
				q.Value = few
			}
			l.quotas[c][other] = q
		}
	}
	return l
}

// few is how much of a resource each may use in the test.
const few = 3

// useOne uses one more of a resource, and does not release it.
func useOne(s *Service, c *Caller, r resource) error {
	a, err := s.Admit(context.Background(), c, Demand{ReadsLog: r == useStreams})
	if err != nil {
		return err
	}
	var over *overLimit
	switch r {
	case useParallel, useStreams:
	case useWaits:
		over = a.wait()
	case useAnswers:
		return a.Render(1)
	case useBodies:
		return a.AddBodyBytes(FreeBody + 1)
	default:
		var d demand
		d[r] = 1
		over = a.pay(d)
	}
	if over != nil {
		return s.tooMuch("it", over)
	}
	return nil
}

// TestEveryCallerIsBoundedInEveryResource: for every class of callers and every resource, there is a limit for the
// caller or its project, or the list above says why not.
func TestEveryCallerIsBoundedInEveryResource(t *testing.T) {
	const uses = 10 * few
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		bounded := func(name string, r resource, use func(i int) error) {
			t.Helper()
			w.ledger = onlyFor(r)
			limit := ""
			for i := 0; i < uses && limit == ""; i++ {
				limit = busy(use(i))
			}
			why, onPurpose := unboundedOnPurpose[name][r]
			switch {
			case limit == "" && !onPurpose:
				t.Errorf("%s: nothing bounds its %s", name, resourceNames[r])
			case limit != "" && onPurpose:
				t.Errorf("%s: its %s are bounded by %s, although %s", name, resourceNames[r], limit, why)
			}
		}
		for r := range resources {
			for name, caller := range callersOfEachClass() {
				bounded(name, r, func(i int) error { return useOne(w.Service, caller(i), r) })
			}
			bounded("nobody", r, func(int) error {
				if r == useCalls {
					_, err := w.AdmitNobody(t.Context(), "192.0.2.1")
					return err
				}
				w.AwaitIdentity(t.Context(), "192.0.2.1", "", "", "")
				return nil
			})
		}
	})
}

// Readers create nothing, so their spawns, projects and uploads need no quota.
func TestReadersMakeNothing(t *testing.T) {
	s := newStage(t)
	auditor := s.token(`{"name":"eyes","kind":"auditor"}`)
	for _, c := range []*Caller{s.readAlpha, auditor} {
		for _, row := range commands.CurrentRules().Rows() {
			if row.Write && s.Permit(c, row.ID, s.alpha) == nil {
				t.Errorf("%s may %s", c.By, row.ID)
			}
		}
		if s.MayStoreManifest(c) == nil {
			t.Errorf("%s may store a manifest", c.By)
		}
	}
}
