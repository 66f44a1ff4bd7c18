package service

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"maestro/commands"
	"maestro/projections"
	"maestro/service/wire"
)

// A task with tasks below it is deleted with them or not at all, except for older clients; a retry gets the same
// answer.
func TestParentIsDeletedWithSubtasks(t *testing.T) {
	w := newWorld(t)
	project := w.make(w.admin(), "project:create", `{"name":"P"}`)
	task := func(parent string) string {
		return w.make(w.admin(), "task:create", fmt.Sprintf(`{"project":%q,"title":"T","parentId":%q}`, project,
			parent))
	}
	top := task("")
	var below []string
	for range 7 {
		below = append(below, task(top))
	}
	alone, recursive := `{"taskId":"`+top+`"}`, `{"taskId":"`+top+`","recursive":true}`
	_, err := w.try(w.admin(), "task:delete", alone, "k")
	var refusal *commands.Refusal
	if !errors.As(err, &refusal) || refusal.Code != commands.CodeRule ||
		!strings.HasSuffix(refusal.Message, strings.Join(below[:5], ", ")+", and others") ||
		!strings.Contains(refusal.Next, "--recursive") {
		t.Fatalf("a parent without its tasks: %v", err)
	}
	for i := range 2 {
		done, err := w.try(w.admin(), "task:delete", recursive, "k")
		if err != nil || done.Event == nil || done.Retried != (i == 1) {
			t.Errorf("with the tasks below it, try %d: %+v, %v", i, done.Answer, err)
		}
	}
	leaf := task("")
	w.do(w.admin(), "task:delete", `{"taskId":"`+leaf+`"}`)
	old := task("")
	task(old)
	caller := w.admin()
	caller.Meta = Meta{Key: "old"}
	done, err := w.Do(t.Context(), caller, Call{Command: &commands.DeleteTask{TaskID: old}})
	if err != nil || done.Event == nil {
		t.Errorf("an older client: %+v, %v", done.Answer, err)
	}
}

// A status shows callers that may list tasks which agent reported what on which task.
func TestStatusNamesReportingAgent(t *testing.T) {
	w := newWorld(t)
	project := w.make(w.admin(), "project:create", `{"name":"P"}`)
	var tasks []string
	for range 2 {
		tasks = append(tasks, w.make(w.admin(), "task:create", `{"project":"`+project+`","title":"T"}`))
	}
	spawn := func(list string) (string, *Caller) {
		done := w.do(w.admin(), "session:spawn", fmt.Sprintf(
			`{"project":%q,"taskIds":[%q,%q]%s}`, project, tasks[0], tasks[1], list))
		_, id := done.Data.Aggregate()
		return id, w.caller(done.Token)
	}
	session, worker := spawn("")
	_, blind := spawn(`,"allowedCommands":["task:get"]`)
	w.do(worker, "report:blocked", `{"message":"m","taskIds":["`+tasks[0]+`"]}`)
	w.do(worker, "report:complete", `{"message":"m","taskIds":["`+tasks[1]+`"]}`)
	for name, c := range map[string]*Caller{"admin": w.admin(), "worker": worker, "blind": blind} {
		status, err := look(w, c, func(v View) (func() (projections.ProjectStatus, error), error) {
			return v.GetProjectStatus(&wire.ProjectID{ID: project})
		})
		named := session + " Worker for " + tasks[0]
		got := fmt.Sprint(status.Said, status.ToConfirm, status.Unconfirmed)
		want := fmt.Sprintf("[{%s T in_progress blocked %s }] [{%s T in_progress completed %s }] [%s]",
			tasks[0], named, tasks[1], named, tasks[1])
		if name == "blind" {
			want = "[] [] [" + tasks[1] + "]"
		}
		if err != nil || got != want {
			t.Errorf("%s sees %s, %v; expected %s", name, got, err, want)
		}
	}
}

// A session's timeline says that a task was removed from it; only the routes of older clients call that completed.
func TestUnlinkedTaskIsNotCompleted(t *testing.T) {
	w := newWorld(t)
	project := w.make(w.admin(), "project:create", `{"name":"P"}`)
	task := w.make(w.admin(), "task:create", `{"project":"`+project+`","title":"T"}`)
	session := w.make(w.admin(), "session:spawn", `{"project":"`+project+`","taskIds":["`+task+`"]}`)
	w.do(w.admin(), "session:unlink", `{"sessionId":"`+session+`","taskId":"`+task+`"}`)
	var types []string
	err := w.Look(t.Context(), w.admin(), func(v View) error {
		shown, err := v.GetSession(&wire.SessionID{ID: session})
		if err == nil {
			for entry := range shown.Entries(0, false).Items {
				types = append(types, entry.Type)
			}
		}
		return err
	})
	if err != nil || len(types) == 0 || types[len(types)-1] != "task_unlinked" {
		t.Errorf("%v, %v", types, err)
	}
}
