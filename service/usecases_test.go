package service

import (
	"context"
	"errors"
	"io"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"maestro/commands"
	"maestro/events"
	"maestro/service/wire"
)

// uses call each method of the service that does or shows something for a caller; nobody is the name of a session other
// than the caller.
var uses = map[string]func(ctx context.Context, s *stage, c *Caller) error{
	"AwaitAnswer": func(ctx context.Context, s *stage, c *Caller) error {
		return s.AwaitAnswer(ctx, c, &wire.InputID{ID: "input_none", Wait: "1s"})
	},
	"AwaitWork": func(ctx context.Context, s *stage, c *Caller) error {
		return s.AwaitWork(ctx, c, &wire.RunnerWorkOf{Name: c.By.Name, Protocol: "1", Wait: "1s"})
	},
	"AwaitMail": func(ctx context.Context, s *stage, c *Caller) error {
		return s.AwaitMail(ctx, c, &wire.MailOf{ID: c.By.Name, Wait: "1s"})
	},
	"AwaitSequence": func(ctx context.Context, s *stage, c *Caller) error { return s.AwaitSequence(ctx, c, 1) },
	"CheckTexts": func(ctx context.Context, s *stage, c *Caller) error {
		_, err := s.CheckTexts(ctx, c)
		return err
	},
	"ConfirmClock": func(ctx context.Context, s *stage, c *Caller) error {
		_, err := s.ConfirmClock(ctx, c)
		return err
	},
	"CreateLoginCode": func(ctx context.Context, s *stage, c *Caller) error {
		_, err := s.CreateLoginCode(ctx, c)
		return err
	},
	"ListLogins": func(ctx context.Context, s *stage, c *Caller) error {
		_, err := s.ListLogins(ctx, c)
		return err
	},
	"EndLogin": func(ctx context.Context, s *stage, c *Caller) error {
		_, err := s.EndLogin(ctx, c, "login_x")
		return err
	},
	"Do": func(ctx context.Context, s *stage, c *Caller) error {
		c.Meta.Key = "k"
		_, err := s.Do(ctx, c, Call{Command: &commands.KillSession{SessionID: s.leadName}})
		return err
	},
	"Export": func(ctx context.Context, s *stage, c *Caller) error {
		return s.Export(ctx, c, ExportQuery{}, func(context.Context, *Export) error { return nil })
	},
	"GenerateManifest": func(ctx context.Context, s *stage, c *Caller) error {
		_, err := s.GenerateManifest(ctx, c, &wire.NewManifest{TaskIDs: []string{s.task}})
		return err
	},
	"GetBlob": func(ctx context.Context, s *stage, c *Caller) error {
		_, err := s.GetBlob(ctx, c, "sha256-"+strings.Repeat("0", 64))
		return err
	},
	"Heartbeat": func(ctx context.Context, s *stage, c *Caller) error { return s.Heartbeat(ctx, c, s.leadName) },
	"CountInbox": func(ctx context.Context, s *stage, c *Caller) error {
		_, _, err := s.CountInbox(ctx, c, &wire.InboxCountFilter{})
		return err
	},
	"LookBack": func(ctx context.Context, s *stage, c *Caller) error {
		c.asks = "task-list"
		return s.LookBack(ctx, c, "1")
	},
	"ListInbox": func(ctx context.Context, s *stage, c *Caller) error {
		_, _, err := s.ListInbox(ctx, c, &wire.InboxFilter{})
		return err
	},
	"ListEvents": func(ctx context.Context, s *stage, c *Caller) error {
		_, _, err := s.ListEvents(ctx, c, &wire.EventsQuery{})
		return err
	},
	"EventHistogram": func(ctx context.Context, s *stage, c *Caller) error {
		_, _, err := s.EventHistogram(ctx, c, &wire.HistogramQuery{})
		return err
	},
	"Look": func(ctx context.Context, s *stage, c *Caller) error {
		return s.Look(ctx, c, func(v View) error { return v.Permit("project:list", "") })
	},
	"SessionManifest": func(ctx context.Context, s *stage, c *Caller) error {
		_, _, err := s.SessionManifest(ctx, c, s.leadName)
		return err
	},
	"SessionWorkflow": func(ctx context.Context, s *stage, c *Caller) error {
		_, err := s.SessionWorkflow(ctx, c, &wire.SessionID{ID: s.leadName})
		return err
	},
	"ShowTask": func(ctx context.Context, s *stage, c *Caller) error {
		_, err := s.ShowTask(ctx, c, "task_none")
		return err
	},
	"Since": func(ctx context.Context, s *stage, c *Caller) error {
		_, err := s.Since(ctx, c, &wire.SinceQuery{})
		return err
	},
	"StoreManifest": func(ctx context.Context, s *stage, c *Caller) error {
		_, err := s.StoreManifest(ctx, c, []byte(`{}`))
		return err
	},
	"Verify": func(ctx context.Context, s *stage, c *Caller) error {
		_, err := s.Verify(ctx, c, "")
		return err
	},
	"Live": func(ctx context.Context, s *stage, c *Caller) error {
		ctx, cancel := context.WithCancel(ctx)
		var all sync.WaitGroup
		all.Go(func() { s.Views.Run(ctx) })
		defer all.Wait()
		defer cancel()
		r, err := s.Live(ctx, c, &wire.LiveFilter{})
		if err == nil {
			r.Close()
		}
		return err
	},
	"TestWebhook": func(ctx context.Context, s *stage, c *Caller) error {
		_, err := s.TestWebhook(ctx, c, "hook_none")
		return err
	},
	"MayReadMetrics": func(ctx context.Context, s *stage, c *Caller) error { return s.MayReadMetrics(ctx, c) },
	"Watch": func(ctx context.Context, s *stage, c *Caller) error {
		w, err := s.Watch(ctx, c, Position{}, WatchFilter{})
		if err == nil {
			w.Close()
		}
		return err
	},
	"WatchNow": func(ctx context.Context, s *stage, c *Caller) error {
		w, err := s.WatchNow(ctx, c, WatchFilter{}, func(View) error { return nil })
		if err == nil {
			w.Close()
		}
		return err
	},
	"Why": func(ctx context.Context, s *stage, c *Caller) error {
		_, _, err := s.Why(ctx, c, s.task)
		return err
	},
	"WriteBackup": func(ctx context.Context, s *stage, c *Caller) error {
		return s.WriteBackup(ctx, c, io.Discard, func(events.Head) {})
	},
}

// noUses are the other methods, with the reason why they do nothing for a caller.
var noUses = map[string]string{
	"Admit":               "lets a call in",
	"AwaitOpen":           "lets a call in that needs no credential",
	"AwaitIdentity":       "lets the question who the server is in",
	"AdmitNobody":         "lets the refusal of a call of nobody out",
	"Anonymous":           "says who calls",
	"Ask":                 "says what a call reads",
	"At":                  "shows a state to what was let in",
	"Authenticate":        "says who calls",
	"AuthenticateFrom":    "says who calls",
	"Await":               "waits for what was let in",
	"ClockStatus":         "health: everybody may ask, also who is over a limit",
	"Damage":              "health",
	"DamageNotice":        "health",
	"DelayRejection":      "delays the refusal of what was not let in",
	"Deliver":             "the server's own; each entry is a call of its session",
	"EnsureManifest":      "a part of spawning",
	"Head":                "stands on every answer, also on refusals",
	"Health":              "health",
	"HeadFor":             "the sequence of what was let in",
	"Heard":               "notes a call that was let in",
	"KnownTemplate":       "a part of spawning",
	"Lease":               "a setting of the server",
	"MayGoOn":             "asks again while an answer is sent",
	"MayStoreManifest":    "asks the table before a body is read",
	"DamageProblem":       "puts an error into words",
	"Permit":              "asks the table",
	"AfterEnd":            "says that a session has ended",
	"PermitEarly":         "asks the table before a body is read",
	"ProblemOf":           "puts an error into words",
	"Prove":               "identity: asked before a credential is sent",
	"RecordRefusal":       "records what was refused",
	"ReserveCommands":     "pays for the commands of a call that was let in",
	"StillGood":           "asks again once a body has arrived",
	"TemplateIn":          "shows a state to what was let in",
	"Turn":                "lets a part of an answer of a call that was let in be made",
	"UntilStop":           "waits for what was let in",
	"WhileGood":           "waits for what was let in",
	"RequireIntactLog":    "health",
	"AuthenticateLogin":   "says who calls",
	"CookieName":          "a name",
	"Login":               "exchanges a code that was let in; who has none counts as nobody",
	"Logout":              "ends the caller's own login",
	"NoteUnauthenticated": "counts a call that is refused",
	"RecordUses":          "the server's own",
	"RemoveRedacted":      "the server's own",
	"Load":                "the figures of the server; whoever shows them asks MayReadMetrics",
	"ParkedWebhooks":      "health",
	"WebhookSecret":       "the server's own: it signs",
	"WebhookText":         "the server's own: it sends",
}

// unpermitted says why a use is not refused to a caller that may use only the core commands.
var unpermitted = map[string]string{
	"AwaitAnswer":   "waits for what GetInput then refuses to show",
	"AwaitMail":     "waits for the caller's own mail",
	"AwaitWork":     "waits for what GetWork then refuses to show",
	"AwaitSequence": "shows nothing",
	"GetBlob":       "a digest that the caller may not read is not found",
	"ShowTask":      "shows what the caller's command changed",
}

// Every use case checks its caller's budgets and the permission table, whatever interface the call uses.
func TestEveryUseIsAdmittedAndPermitted(t *testing.T) {
	methods := map[string]bool{}
	for method := range reflect.TypeFor[*Service]().Methods() {
		methods[method.Name] = true
		if (uses[method.Name] == nil) == (noUses[method.Name] == "") {
			t.Errorf("%s must be in exactly one of the tables", method.Name)
		}
	}
	for name := range uses {
		if !methods[name] {
			t.Errorf("there is no method %s", name)
		}
	}
	for name, use := range uses {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				core := s.caller(s.do(s.admin(), "session:spawn",
					`{"project":"`+s.alpha+`","taskIds":["`+s.task+`"],"allowedCommands":["whoami"]}`).Token)
				s.Blobs = noBlobs{}
				err := use(t.Context(), s, new(*core))
				if unpermitted[name] == "" && kindFor(s, core, err) != KindNotAllowed {
					t.Errorf("without permission: %v", err)
				}
				for _, limit := range []string{"session-reads=0.001/1", "session-commands=0.001/1"} {
					if err := s.Limits.Set(limit); err != nil {
						t.Fatal(err)
					}
				}
				s.ledger = newLedger(&s.Limits)
				for _, spent := range []Demand{{}, {Writes: true}} {
					if a, err := s.Admit(t.Context(), new(*core), spent); err != nil {
						t.Fatal(err)
					} else {
						a.Leave()
					}
				}
				if err := use(t.Context(), s, new(*core)); kindFor(s, core, err) != KindBusy {
					t.Errorf("with a spent budget: %v", err)
				}
			})
		})
	}
}

func kindFor(s *stage, c *Caller, err error) Kind {
	if err == nil {
		return -1
	}
	return s.ProblemOf(c, err, CallName{}).Kind
}

type noBlobs struct{}

func (noBlobs) PutBlob(context.Context, []byte) (string, error) { return "", errors.New("no room") }

func (noBlobs) DeleteBlob(context.Context, string) error { return nil }

func (noBlobs) Blob(context.Context, string) ([]byte, error) { return nil, events.ErrNoBlob }

// While a copy of the log is sent, it counts as a read of the whole log and as an unread answer; it ends when its
// credential does.
func TestLogCopyCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		eye := s.token(`{"name":"eye","kind":"auditor"}`)
		account := s.ledger.hold(ClassReader, AccountName(eye.By))
		used := func() [2]int64 {
			account.mu.Lock()
			defer account.mu.Unlock()
			return [2]int64{account.used[useStreams-rates], account.used[useAnswers-rates]}
		}
		err := s.Export(t.Context(), new(*eye), ExportQuery{}, func(ctx context.Context, e *Export) error {
			if used() != [2]int64{1, copyHeld} {
				t.Errorf("during the copy, %v are in use", used())
			}
			s.do(s.admin(), "token:revoke", `{"name":"eye"}`)
			<-ctx.Done()
			return e.Read(ctx, func(Exported) error { return ctx.Err() })
		})
		if kindFor(s, eye, err) != KindUnauthenticated {
			t.Errorf("after the revocation: %v", err)
		}
		if used() != [2]int64{} {
			t.Errorf("after it, %v are in use", used())
		}
	})
}
