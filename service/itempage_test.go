package service

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"maestro/projections"
	"maestro/service/wire"
)

// queued pushes new tasks, each of which waits for the given ones, to the queue "q" of a project.
func (w *world) queued(project string, n int, waitsFor []string) (tasks []string) {
	w.Helper()
	on, err := json.Marshal(append([]string{}, waitsFor...))
	if err != nil {
		w.Fatal(err)
	}
	for range n {
		task := w.make(w.admin(), "task:create",
			fmt.Sprintf(`{"project":%q,"title":"T","dependencies":%s}`, project, on))
		w.do(w.admin(), "queue:push", fmt.Sprintf(`{"project":%q,"queue":"q","taskId":%q}`, project, task))
		tasks = append(tasks, task)
	}
	return tasks
}

// A page of a queue takes one step for each item of the queue, and the steps of a view only for the items that it
// shows. The whole queue is shown in short portions.
func TestQueuePageShowsItsItems(t *testing.T) {
	const items, waits = 900, 20
	w := newWorld(t)
	project := w.make(w.admin(), "project:create", `{"name":"P"}`)
	w.do(w.admin(), "queue:create", `{"project":"`+project+`","queue":"q"}`)
	var hubs []string
	for range waits {
		hubs = append(hubs, w.make(w.admin(), "task:create", fmt.Sprintf(`{"project":%q,"title":"T"}`, project)))
	}
	tasks := w.queued(project, items, hubs)
	read := func(asked PageOf, status string, take int) (found []string, steps, most uint64) {
		t.Helper()
		c := w.admin()
		c.Page = func() (PageOf, error) { return asked, nil }
		page, err := look(w, c, func(v View) (func() (QueuePage, error), error) {
			v.around = func(look func(func(View)), see func(View)) {
				look(func(v View) {
					see(v)
					steps, most = steps+v.Steps(), max(most, v.Steps())
				})
			}
			return v.GetQueue(&wire.QueueName{Name: "q", ProjectID: project, Status: status})
		})
		if err != nil {
			t.Fatal(err)
		}
		err = RecoverPart(func() error {
			page.Items.Each(func(item any) bool {
				found = append(found, item.(projections.ItemView).TaskID)
				return len(found) != take
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return found, steps, most
	}
	const toShow = 3*waits + 10
	for name, asked := range map[string]PageOf{
		"first":  {Limit: 1},
		"middle": {Limit: 1, After: tasks[499], From: 500},
	} {
		found, steps, _ := read(asked, "", 0)
		if !slices.Equal(found, tasks[asked.From:asked.From+1]) || steps > items+items/10+toShow {
			t.Errorf("the %s page takes %d steps for %d of %d items", name, steps, len(found), items)
		}
	}
	if found, steps, _ := read(PageOf{Limit: 1}, "failed", 0); len(found) != 0 || steps > items+items/10 {
		t.Errorf("a page of no items takes %d steps and shows %d", steps, len(found))
	}
	if _, steps, _ := read(PageOf{}, "", 1); steps > items+2*stepsAtOnce {
		t.Errorf("a caller that reads one item of the whole queue causes %d steps", steps)
	}
	found, _, most := read(PageOf{}, "", 0)
	if !slices.Equal(found, tasks) || most > stepsAtOnce+toShow {
		t.Errorf("a portion has %d steps; %d of %d items are shown", most, len(found), items)
	}
}

// The pages of a queue together are the queue: an item that is pushed again between two pages appears at its new place,
// and removing an item hides no other.
func TestPagesOfAQueueAreTheQueue(t *testing.T) {
	const items = 300
	w := newWorld(t)
	project := w.make(w.admin(), "project:create", `{"name":"P"}`)
	w.do(w.admin(), "queue:create", `{"project":"`+project+`","queue":"q"}`)
	tasks := w.queued(project, items, nil)
	of := func(command, task string) {
		w.do(w.admin(), command, fmt.Sprintf(`{"project":%q,"queue":"q","taskId":%q}`, project, task))
	}
	for _, limit := range []int{1, 7, 100, 299, 300, 1000} {
		var found []string
		asked := PageOf{Limit: limit}
		var gone []string
		for pages := 0; ; pages++ {
			if pages > items {
				t.Fatal("the pages have no end")
			}
			c := w.admin()
			c.Page = func() (PageOf, error) { return asked, nil }
			page, err := look(w, c, func(v View) (func() (QueuePage, error), error) {
				return v.GetQueue(&wire.QueueName{Name: "q", ProjectID: project})
			})
			if err != nil {
				t.Fatal(err)
			}
			page.Items.Each(func(item any) bool {
				found = append(found, item.(projections.ItemView).TaskID)
				return true
			})
			if left := items - len(gone) - len(found); page.More != left {
				t.Errorf("pages of %d: %d more, want %d", limit, page.More, left)
			}
			next := page.NextCursor()
			if next == "" {
				break
			}
			if asked, err = ReadPage(fmt.Sprint(limit), next); err != nil {
				t.Fatal(err)
			}
			if at := len(found) + 1; pages == 0 && at < items {
				gone = append(gone, tasks[at])
				of("queue:remove", tasks[at])
				of("queue:remove", found[len(found)-1]) // the last one that was shown
			}
		}
		want := slices.DeleteFunc(slices.Clone(tasks), func(id string) bool { return slices.Contains(gone, id) })
		if !slices.Equal(found, want) {
			t.Errorf("pages of %d show %d items, want %d", limit, len(found), len(want))
		}
		if len(gone) > 0 { // they are pushed again at the end
			last := found[min(limit, len(found))-1]
			of("queue:push", last)
			of("queue:push", gone[0])
			tasks = slices.DeleteFunc(tasks, func(id string) bool { return id == last || id == gone[0] })
			tasks = append(tasks, last, gone[0])
		}
	}
}
