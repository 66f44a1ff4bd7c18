package service

import (
	"fmt"
	"slices"
	"testing"

	"maestro/projections"
	"maestro/service/wire"
)

// paged reads a list page by page. between is called once, after the first page, with the last name on it.
func paged[T any](
	w *world, limit int, see func(v View) (func() (Page[T], error), error), name func(T) string,
	between func(last string),
) (found []string, steps []uint64) {
	w.Helper()
	for asked := (PageOf{Limit: limit}); ; {
		c := w.admin()
		c.Page = func() (PageOf, error) { return asked, nil }
		page, took := counted(w, c, see)
		for _, item := range page.Items {
			found = append(found, name(item))
		}
		if steps = append(steps, took); page.Next == "" {
			return found, steps
		}
		if len(steps) == 1 {
			between(found[len(found)-1])
		}
		var err error
		if asked, err = ReadPage(fmt.Sprint(limit), page.Next); err != nil {
			w.Fatal(err)
		}
	}
}

// All pages together are the list, and each takes no more than its items, the next item, and what is skipped, even if
// the last item of a page disappears before the next page is read.
func TestPagesMakeWhatIsOnThem(t *testing.T) {
	const many, limit = 40, 7
	w := newWorld(t)
	var projects, queues, templates, tokens []string
	for i := range many {
		project := w.make(w.admin(), "project:create", `{"name":"P"}`)
		projects = append(projects, project)
		queue := fmt.Sprintf("q%d", i%3)
		w.do(w.admin(), "queue:create", fmt.Sprintf(`{"project":%q,"queue":%q}`, projects[i/3], queue))
		queues = append(queues, projects[i/3]+"/"+queue)
		template := w.make(w.admin(), "template:create", `{"name":"T","role":"worker","content":"c"}`)
		templates = append(templates, template)
		tokens = append(tokens, fmt.Sprint("t", i))
		w.do(w.admin(), "token:create", fmt.Sprintf(`{"name":%q,"kind":"auditor"}`, tokens[i]))
	}
	w.do(w.admin(), "template:update", `{"templateId":"execute-simple","content":"c"}`) // it stays in its place
	nothing := func(string) {}
	check := func(what string, found, want []string, steps []uint64, before uint64) {
		t.Helper()
		if !slices.Equal(found, want) {
			t.Errorf("the pages of %s show %q, want %q", what, found, want)
		}
		for i, took := range steps {
			if most := before + 8*(limit+1); took > most {
				t.Errorf("page %d of %s takes %d steps, at most %d", i, what, took, most)
			}
		}
	}
	found, steps := paged(w, limit, func(v View) (func() (Page[projections.ProjectView], error), error) {
		return v.ListProjects(&wire.ProjectFilter{})
	}, func(p projections.ProjectView) string { return p.ID }, nothing)
	check("projects", found, projects, steps, 0)
	deleted := ""
	listed := func(v View) (func() (Page[projections.QueueView], error), error) {
		return v.ListQueues(&wire.QueueFilter{})
	}
	nameOf := func(q projections.QueueView) string { return q.ProjectID + "/" + q.Name }
	found, steps = paged(w, limit, listed, nameOf, nothing)
	check("queues", found, queues, steps, 3*many)
	found, steps = paged(w, limit, listed, nameOf, func(last string) {
		deleted = last
		project := last[:len(projects[0])]
		w.do(w.admin(), "queue:delete", fmt.Sprintf(`{"project":%q,"queue":%q}`, project, last[len(project)+1:]))
	})
	check("queues of which one is deleted", found, queues, steps, 3*many)
	found, _ = paged(w, limit, listed, nameOf, nothing)
	check("queues without that", found,
		slices.DeleteFunc(slices.Clone(queues), func(name string) bool { return name == deleted }), nil, 0)
	found, steps = paged(w, limit, func(v View) (func() (Page[wire.TokenView], error), error) {
		return v.ListTokens()
	}, func(token wire.TokenView) string { return token.Name }, nothing)
	check("tokens", found, tokens, steps, 0)
	found, steps = paged(w, limit, func(v View) (func() (Page[wire.Template], error), error) {
		return v.ListTemplates("")
	}, func(body wire.Template) string { return body.ID }, nothing)
	if len(found) != many+6 || !slices.Equal(found[6:], templates) || found[0] != "execute-simple" {
		t.Errorf("%d templates: %q", len(found), found)
	}
	check("templates", found, found, steps, 0)
}

// A cursor continues at the position of its item even if the item is no longer in the list.
func TestCursorOfRemovedItem(t *testing.T) {
	rest := []restOf{{project: "p", ids: []string{"a", "b"}}, {project: "r", ids: []string{"a", "c", "d"}}}
	for _, x := range []struct {
		after    string
		position int
		want     string
		at       int
	}{
		{"p/b", 9, "[] [a c d]", 2},
		{"r/a", 9, "[c d]", 3},
		{"r/d", 0, "[]", 5},
		{"x/a", 0, "[b] [a c d]", 1},
		{"", 1, "[a c d]", 2},
		{"pr/a", 3, "[d]", 4},
		{"p", 7, "", 5},
	} {
		asked := PageOf{Limit: 1, After: x.after, Position: x.position}
		asked.cursor = &cursor{place{id: x.after}, x.position}
		left, at := afterCursor(rest, asked)
		got := ""
		for i, of := range left {
			if i > 0 {
				got += " "
			}
			got += fmt.Sprint(of.ids)
		}
		if got != x.want || at != x.at {
			t.Errorf("left %q, %d: %s at %d, want %s at %d", x.after, x.position, got, at, x.want, x.at)
		}
	}
}
