package service

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"maestro/commands"
	"maestro/projections"
	"maestro/service/wire"
)

// TestLargeProjectHidesNoOther: an inbox looks at each project separately, names those that are too large, and shows
// the others.
func TestLargeProjectHidesNoOther(t *testing.T) {
	w := newWorld(t)
	projects := map[string]string{}
	for name, tasks := range map[string]int{"small": 10, "also": 10, "large": 6000} {
		id := w.make(w.admin(), "project:create", `{"name":"`+name+`"}`)
		projects[id] = name
		for range tasks {
			task := w.make(w.admin(), "task:create", fmt.Sprintf(`{"project":%q,"title":"T"}`, id))
			w.do(w.admin(), "task:block", fmt.Sprintf(`{"taskId":%q,"reason":"r"}`, task))
		}
	}
	w.listMost = 2000
	items, _, err := w.ListInbox(t.Context(), w.admin(), &wire.InboxFilter{})
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]int{}
	for _, item := range items {
		shown[projects[item.ProjectID]+" "+string(item.Kind)]++
	}
	want := map[string]int{
		"small " + string(projections.InboxBlocked): 10,
		"also " + string(projections.InboxBlocked):  10,
		"large " + string(projections.InboxBlocked): projections.InboxListed + 1,
		"large " + string(projections.InboxUnread):  1,
	}
	if fmt.Sprint(shown) != fmt.Sprint(want) {
		t.Errorf("it shows %v, want %v", shown, want)
	}
	for id, name := range projects {
		items, _, err := w.ListInbox(t.Context(), w.admin(), &wire.InboxFilter{ProjectID: id})
		if err != nil || (items[0].Kind == projections.InboxUnread) != (name == "large") {
			t.Errorf("%s alone: %v %v", name, items, err)
		}
	}
}

// statusOf returns the status of a project as a caller is shown it.
func (w *world) statusOf(c *Caller, project string) (status projections.ProjectStatus, err error) {
	w.Helper()
	var finish func() (projections.ProjectStatus, error)
	err = w.Look(w.Context(), c, func(v View) (err error) {
		finish, err = v.GetProjectStatus(&wire.ProjectID{ID: project})
		return err
	})
	if err == nil {
		err = RecoverPart(func() (err error) {
			status, err = finish()
			return err
		})
	}
	return status, err
}

// A project that is too large for one read still shows its questions in the inbox, and what was counted in its status;
// both name what they leave out.
func TestLargeProjectShowsWhatWasFound(t *testing.T) {
	w := newWorld(t)
	project := w.make(w.admin(), "project:create", `{"name":"P"}`)
	asks := w.do(w.admin(), "session:spawn", fmt.Sprintf(`{"project":%q,"taskIds":[%q]}`, project,
		w.make(w.admin(), "task:create", fmt.Sprintf(`{"project":%q,"title":"T"}`, project))))
	w.do(w.caller(asks.Token), "report:needs-input", `{"message":"Which?"}`)
	for range 2000 {
		task := w.make(w.admin(), "task:create", fmt.Sprintf(`{"project":%q,"title":"T"}`, project))
		w.do(w.admin(), "task:update", fmt.Sprintf(`{"taskId":%q,"status":"in_progress"}`, task))
	}
	status := func() projections.ProjectStatus {
		status, err := w.statusOf(w.admin(), project)
		if err != nil {
			t.Fatal(err)
		}
		return status
	}
	whole := status()
	if whole.Unread != nil || whole.Inbox != 2001 {
		t.Errorf("%d things need somebody, and %q is left out", whole.Inbox, whole.Unread)
	}
	w.listMost = 2000
	items, _, err := w.ListInbox(t.Context(), w.admin(), &wire.InboxFilter{ProjectID: project})
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[projections.InboxKind]int{}
	for _, item := range items {
		kinds[item.Kind]++
	}
	if kinds[projections.InboxQuestion] != 1 || kinds[projections.InboxUnread] != 1 {
		t.Errorf("%v", kinds)
	}
	if part := status(); len(part.Unread) == 0 || part.Inbox >= whole.Inbox {
		t.Errorf("%d things need somebody, and %q is left out", part.Inbox, part.Unread)
	}
}

// A filter names every kind of item, and an unknown kind is an error, not an empty inbox.
func TestInboxKinds(t *testing.T) {
	w := newWorld(t)
	source, err := os.ReadFile("../projections/inbox.go")
	if err != nil {
		t.Fatal(err)
	}
	var declared []string
	for _, kind := range regexp.MustCompile(`InboxKind += "([a-z]+)"`).FindAllStringSubmatch(string(source), -1) {
		declared = append(declared, kind[1])
	}
	if kinds := (wire.InboxFilter{}).Kinds(); len(kinds) < 10 || !slices.Equal(kinds, declared) {
		t.Errorf("a filter may name %v, and there are %v", kinds, declared)
	}
	for _, kind := range append(declared, "", "blockd", "question|blocked") {
		_, _, err := w.ListInbox(w.Context(), w.admin(), &wire.InboxFilter{Kind: kind})
		var refusal *commands.Refusal
		known := kind == "" || slices.Contains(declared, kind)
		if known && err != nil || !known && (!errors.As(err, &refusal) || refusal.Code != commands.CodeInvalid) {
			t.Errorf("%q: %v", kind, err)
		}
	}
}

// A session's inbox names only what the session may do about an item.
func TestInboxNamesStepsThatItsReaderMayTake(t *testing.T) {
	s := newStage(t)
	own, lead := s.workerName, s.lead.By.Name
	foreign := s.spawned(s.admin(), `,"taskIds":["`+s.task+`"]`).By.Name
	const ask = `maestro report needs-input "<question>"`
	again := "maestro session kill " + own + " && maestro session spawn, or maestro session exec " + own + " -- true"
	write := "maestro session message " + own + ` "…"`
	for next, want := range map[string]string{
		"maestro session complete " + own + ", or maestro session kill " + own: "maestro session kill " + own,

		"maestro session complete " + lead:                                       "maestro session complete " + lead,
		"maestro session kill " + foreign:                                        ask,
		"maestro session exec " + foreign + " -- true":                           ask,
		"maestro session message " + foreign + ` "…", or maestro why ` + foreign: "maestro why " + foreign,

		again:                               again,
		"maestro queue requeue t --queue q": ask,
		"maestro queue requeue t, or maestro session spawn --task-ids t": "maestro session spawn --task-ids t",

		write + ", or maestro audit denials --actor s": write,
		"maestro why t, or maestro task complete t":    "maestro why t, or maestro task complete t",
	} {
		const or = ", or "
		items := []projections.InboxItem{{Next: strings.Split(next, or)}}
		if s.followable(s.admin(), items); strings.Join(items[0].Next, or) != next {
			t.Errorf("the user is told %q, not %q", items[0].Next, next)
		}
		if s.followable(s.lead, items); strings.Join(items[0].Next, or) != want {
			t.Errorf("an orchestrator is told %q instead of %q, not %q", items[0].Next, next, want)
		}
	}
}
