package service

import (
	"testing"
	"testing/synctest"
	"time"

	"maestro/projections"
	"maestro/service/wire"
)

// The parts of a page let a command in progress go first, each for a moment; without one, and in its first part, a read
// waits for nothing.
func TestPagesLetCommandsGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		project := w.make(w.admin(), "project:create", `{"name":"P"}`)
		task := ""
		for range 30 {
			task = w.make(w.admin(), "task:create", `{"project":"`+project+`","title":"T"}`)
		}
		page := func() time.Duration {
			begun := time.Now()
			if ids, _ := w.listed(w.admin(), &wire.TaskFilter{}, PageOf{Limit: 20}); len(ids) != 20 {
				t.Errorf("the page has %d tasks", len(ids))
			}
			return time.Since(begun)
		}
		get := func() time.Duration {
			begun := time.Now()
			var finish func() (projections.TaskView, error)
			err := w.Look(t.Context(), w.admin(), func(v View) (err error) {
				finish, err = v.GetTask(&wire.TaskID{ID: task})
				return err
			})
			if err == nil {
				_, err = finish()
			}
			if err != nil {
				t.Error(err)
			}
			return time.Since(begun)
		}
		if took := page() + get(); took != 0 {
			t.Errorf("without commands, reads waited %s", took)
		}
		stored := make(chan struct{})
		w.log.slow = func() { <-stored }
		said := make(chan Done, 1)
		go func() { said <- w.do(w.admin(), "task:create", `{"project":"`+project+`","title":"more"}`) }()
		synctest.Wait()
		if took := page(); took < yieldMost || took > 3*yieldMost {
			t.Errorf("beside a slow command, a page waited %s", took)
		}
		if took := get(); took != 0 {
			t.Errorf("beside a slow command, a short read waited %s", took)
		}
		close(stored)
		<-said
		if took := page(); took != 0 {
			t.Errorf("after the command, a page waited %s", took)
		}
	})
}
