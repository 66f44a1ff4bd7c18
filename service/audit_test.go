package service

import (
	"context"
	"errors"
	"testing"

	"maestro/commands"
	"maestro/projections"
	"maestro/service/wire"
)

// The audit works without HTTP: an auditor verifies, exports and lists refusals, and others are refused.
func TestAuditWithoutHTTP(t *testing.T) {
	s := newStage(t)
	s.do(s.admin(), "task:create", `{"project":"`+s.beta+`","title":"elsewhere"}`)
	auditor := s.token(`{"name":"eye","kind":"auditor"}`)
	verdict, err := s.Verify(t.Context(), auditor, "")
	if err != nil || len(verdict.Faults) != 0 || verdict.Events != s.Head() {
		t.Errorf("%+v, %v", verdict, err)
	}
	wrong := "1:0000000000000000000000000000000000000000000000000000000000000000"
	if verdict, err = s.Verify(t.Context(), auditor, wrong); err != nil || len(verdict.Faults) == 0 {
		t.Errorf("a head of another log: %+v, %v", verdict, err)
	}
	seen, withheld := 0, 0
	part := ExportQuery{Project: s.beta, From: "2"}
	err = s.Export(t.Context(), auditor, part, func(ctx context.Context, e *Export) error {
		return e.Read(ctx, func(line Exported) error {
			seen++
			if line.Withheld {
				withheld++
			}
			return nil
		})
	})
	if err != nil || uint64(seen) != s.Head()-1 || seen-withheld != 2 {
		t.Errorf("%d messages, %d of them withheld: %v", seen, withheld, err)
	}
	var refusal *commands.Refusal
	for what, call := range map[string]func() error{
		"verify": func() error { _, err := s.Verify(t.Context(), s.worker, ""); return err },
		"texts":  func() error { _, err := s.CheckTexts(t.Context(), s.worker); return err },
		"export": func() error { return s.Export(t.Context(), s.worker, ExportQuery{}, nil) },
		"backup": func() error { return s.WriteBackup(t.Context(), s.worker, nil, nil) },
		"denials": func() error {
			_, err := s.view(s.worker).ListDenials(&wire.DenialFilter{})
			return err
		},
	} {
		if err := call(); !errors.As(err, &refusal) {
			t.Errorf("%s: %v", what, err)
		}
	}
	var problem *Problem
	err = s.WriteBackup(t.Context(), auditor, nil, nil)
	if !errors.As(err, &problem) || problem.Kind != KindNotAllowed {
		t.Errorf("a backup for an auditor: %v", err)
	}
	err = s.WriteBackup(t.Context(), s.admin(), nil, nil)
	if !errors.As(err, &problem) || problem.Code != "READ_ONLY" {
		t.Errorf("a backup by a server that makes none: %v", err)
	}
	if _, _, err := s.SessionManifest(t.Context(), s.worker, s.leadName); err == nil {
		t.Error("a worker reads a manifest that does not exist")
	}
	if _, err := s.GetBlob(t.Context(), auditor, "sha256-no"); !errors.As(err, &refusal) {
		t.Errorf("no digest: %v", err)
	}
	err = s.Heartbeat(t.Context(), s.worker, s.leadName)
	if !errors.As(err, &problem) || problem.Kind != KindNotAllowed {
		t.Errorf("another's heartbeat: %v", err)
	}
	if err := s.AwaitSequence(t.Context(), auditor, s.Head()); err != nil {
		t.Error(err)
	}
}

// view returns the committed state as a caller sees it.
func (w *world) view(c *Caller) (v View) {
	w.Handler.View(func(state *projections.State) { v = w.At(state, c) })
	return v
}
