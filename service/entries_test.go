package service

import (
	"context"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"maestro/commands"
	"maestro/events"
	"maestro/workers/outbox"
)

// entries are the ways in which a command of the worker arrives: as sent, translated from another request, as compat
// does, and kept in an outbox.
var entries = map[string]func(s *stage, id, body, key string) error{
	"sent": func(s *stage, id, body, key string) error {
		_, err := s.try(s.worker, id, body, key)
		return err
	},
	"made": func(s *stage, id, body, key string) error {
		command, err := commands.Parse(id, []byte(body))
		if err != nil {
			return err
		}
		c := *s.worker
		c.Meta = Meta{Key: key}
		_, err = s.Do(context.Background(), &c, Call{Command: command, By: c.By, Suffix: ":x"})
		return err
	},
	"kept": func(s *stage, id, body, key string) error {
		turn := &turn{service: s.Service, logger: s.Logger, session: s.workerName}
		turn.secretNow()
		return turn.execute(context.Background(), outbox.Entry{
			Command:    id,
			Body:       json.RawMessage(body),
			Key:        key,
			OccurredAt: time.Now(),
		})
	},
}

// codeOf returns the code with which a call was refused; "" if it was not refused.
func codeOf(s *stage, err error) string {
	if err == nil {
		return ""
	}
	return s.ProblemOf(s.worker, err, CallName{}).Code
}

// A command gets the same refusals in whatever way it arrives.
func TestEveryEntryGetsSameRefusals(t *testing.T) {
	const report = `{"message":"m"}`
	for name, c := range map[string]struct {
		code     string
		limit    string
		before   func(s *stage)
		id, body string
	}{
		"nothing": {id: "report:progress", body: report},
		"a spent budget": {
			code:   "RATE_LIMITED",
			limit:  "session-commands=0.001/1",
			before: func(s *stage) { s.do(s.worker, "report:progress", report) },
			id:     "report:progress",
			body:   report,
		},
		"calls in progress": {
			code:  "RATE_LIMITED",
			limit: "session-parallel=1",
			before: func(s *stage) {
				a, err := s.Admit(context.Background(), new(*s.worker), Demand{})
				if err != nil {
					s.Fatal(err)
				}
				s.Cleanup(a.Leave)
			},
			id:   "report:progress",
			body: report,
		},
		"too many questions": {
			code:   "QUOTA_EXCEEDED",
			limit:  "session-questions=1",
			before: func(s *stage) { s.do(s.worker, "report:needs-input", `{"message":"?"}`) },
			id:     "report:needs-input",
			body:   `{"message":"?"}`,
		},
		"a log that is not written to": {
			code:   "UNAVAILABLE",
			before: func(s *stage) { s.Handler.StopWrites(&events.StoppedError{Why: "the test says so", Asked: true}) },
			id:     "report:progress",
			body:   report,
		},
		"a key that was used": {
			code: "KEY_REUSED",
			before: func(s *stage) {
				for _, enter := range entries {
					err := enter(s, "report:progress", `{"message":"other"}`, "the key")
					if codeOf(s, err) == "INTERNAL_ERROR" {
						s.Fatal(err)
					}
				}
			},
			id:   "report:progress",
			body: report,
		},
		"what the table forbids": {
			code: "NOT_ALLOWED", id: "session:kill",
			body: `{"sessionId":"LEAD"}`,
		},
		"what is not there": {
			code: "NOT_FOUND", id: "report:progress",
			body: `{"message":"m","taskIds":["task_none"]}`,
		},
	} {
		for entry, enter := range entries {
			t.Run(name+"/"+entry, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newStage(t)
					if c.limit != "" {
						if err := s.Limits.Set(c.limit); err != nil {
							t.Fatal(err)
						}
						s.ledger = newLedger(&s.Limits)
					}
					if c.before != nil {
						c.before(s)
					}
					head := s.Head()
					code := c.code
					if entry == "kept" && !commands.MayWait(c.id) {
						code = "VALIDATION_ERROR"
					}
					err := enter(s, c.id, strings.ReplaceAll(c.body, "LEAD", s.leadName), "the key")
					if got := codeOf(s, err); got != code || (code == "") != (s.Head() > head) {
						t.Errorf("refused with %q, not %q: %v", got, code, err)
					}
				})
			})
		}
	}
}

// A translated command can act for another session only if its caller showed no credential, and can be kept only if its
// row allows that.
func TestTranslatedCommandIsCheckedToo(t *testing.T) {
	s := newStage(t)
	c := *s.worker
	c.Meta = Meta{Key: "k"}
	report := &commands.Report{}
	other := commands.SessionActor(s.alpha, s.leadName, commands.AuthnNone)
	if _, err := s.Do(t.Context(), &c, Call{Command: report, By: other}); codeOf(s, err) != "NOT_ALLOWED" {
		t.Errorf("for another session: %v", err)
	}
	user := s.admin()
	user.Meta = Meta{Key: "k", Kept: true, OccurredAt: time.Now()}
	create := &commands.CreateProject{Name: "P"}
	if _, err := s.Do(t.Context(), user, Call{Command: create}); codeOf(s, err) != "VALIDATION_ERROR" {
		t.Errorf("a command that does not wait: %v", err)
	}
	var refusal *commands.Refusal
	s.Templates = strictTemplates{}
	user.Meta = Meta{Key: "t"}
	template := &commands.CreateTemplate{Name: "T", Role: events.RoleWorker, Content: "x"}
	_, err := s.Do(t.Context(), user, Call{Command: template})
	if !errors.As(err, &refusal) || refusal.Pointer != "/content" {
		t.Errorf("a template that cannot be used: %v", err)
	}
}

type strictTemplates struct{}

func (strictTemplates) Own(string) (string, bool) { return "", false }

func (strictTemplates) Check(string) error { return errors.New("no phases") }

// Only one function passes commands to the Handler, for all interfaces; the leases send the commands of deadlines.
func TestOneFunctionCallsTheHandler(t *testing.T) {
	ways := 0
	for _, dir := range []string{".", "../api", "../cmd", "../workers", "../internal/cli"} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for _, declared := range file.Decls {
				function, ok := declared.(*ast.FuncDecl)
				if !ok {
					continue
				}
				ast.Inspect(function, func(n ast.Node) bool {
					called, ok := n.(*ast.CallExpr)
					if !ok || !handlerDo(called) {
						return true
					}
					ways++
					if path != "callcommands.go" || function.Name.Name != "execute" {
						t.Errorf("%s: a command bypasses Service.Do", files.Position(n.Pos()))
					}
					return true
				})
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if ways != 1 {
		t.Errorf("%d calls lead to the Handler", ways)
	}
}

// handlerDo reports whether a call is one of Handler.Do.
func handlerDo(call *ast.CallExpr) bool {
	do, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || do.Sel.Name != "Do" {
		return false
	}
	switch of := do.X.(type) {
	case *ast.Ident:
		return strings.EqualFold(of.Name, "handler")
	case *ast.SelectorExpr:
		return strings.EqualFold(of.Sel.Name, "handler")
	}
	return false
}
