package offline

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"maestro/internal/cli"
	"maestro/internal/failure"
	"maestro/projections"
)

// auditDiff is `maestro audit diff`.
type auditDiff struct {
	*cli.Run
	from, to string
}

func newAuditDiff(a *cli.Run) *cobra.Command {
	c := &auditDiff{Run: a}
	cmd := &cobra.Command{
		Use:   "diff [<object>] [<file>]",
		Short: "Compare two moments of the log: what was created, changed and removed between them",
		Args:  cli.Takes,
		Long: `Compare how everything stood at two moments, each a sequence, a time, or a
duration ago such as 10m. Without --to, the second moment is now. Of what was
changed, each field is shown as it was and as it is.

An object narrows this to one project, task, session or queue (<project>/<queue>)
and everything that is about it. A file is an export; that of one project has
what is of that project.

The views are those that "task list", "session list" and so on show with --at.
Tokens and webhooks have none: "maestro events --type token" shows what happened
to them. A file has no built-in templates.`,
		RunE: cli.Running(c.run),
	}
	cmd.Flags().StringVar(&c.from, "from", "", "the first moment: after this event, at this time, or this long ago")
	cmd.Flags().StringVar(&c.to, "to", "", "the second moment, in the same forms; now if absent")
	a.ListFlags(cmd)
	cli.ValueName(cmd, "from", "<sequence|time>")
	cli.ValueName(cmd, "to", "<sequence|time>")
	return cmd
}

// difference is what differs between two moments.
type difference struct {
	From    *past        `json:"from"`
	To      *past        `json:"to"`
	Changes []viewChange `json:"changes"`
}

func (c *auditDiff) run(ctx context.Context, args []string) error {
	if c.from == "" {
		return failure.Usage("--from is missing").
			WithNext("name the first moment, such as --from 42, --from 2026-02-02T10:00:00Z or --from 2h")
	}
	from, err := parseStart("from", c.from)
	if err != nil {
		return err
	}
	to, err := parseStart("to", c.to)
	if err != nil {
		return err
	}
	if to.beginning && !from.beginning || !to.isZero() && to.isBefore(from) {
		return c.swapped()
	}
	object, file := operands(args)
	h, of, done, err := openHistory(ctx, c.Run, "`maestro audit diff`", object, file)
	if err != nil {
		return err
	}
	defer done()
	defer tellPart(c.Run, h)
	var d difference
	if d.From, err = h.at(ctx, of, from); err != nil {
		return notYet(err, "from", c.from)
	}
	if d.To, err = h.at(ctx, of, to); err != nil {
		return c.orSwapped(notYet(err, "to", c.to))
	}
	if d.To.Sequence < d.From.Sequence {
		if !to.isZero() {
			return c.swapped()
		}
		d.To = d.From // the caller may see nothing that came since
	}
	var known bool
	if d.Changes, known, err = differences(of, d.From, d.To); err != nil {
		return err
	}
	if !known && of.kind != "" {
		return notThere(of, "it existed at neither of the two moments")
	}
	c.show(d, namesIn(d.From, d.To))
	return nil
}

// swapped refuses a first moment after the second one.
func (c *auditDiff) swapped() error {
	return failure.Usage("--from %s is after --to %s", c.from, c.to).WithNext("swap them")
}

// orSwapped says which flags are meant, if a log was to be read backwards.
func (c *auditDiff) orSwapped(err error) error {
	if errors.Is(err, errBackwards) {
		return c.swapped()
	}
	return err
}

// differences returns what differs of the views about a subject; known says that there were any.
func differences(of subject, from, to *past) (changes []viewChange, known bool, err error) {
	byKind := map[projections.Kind][]projections.ViewKey{}
	note := func(key projections.ViewKey) {
		was, is := from.views[key], to.views[key]
		if was != nil && of.has(key, was) || is != nil && of.has(key, is) {
			byKind[key.Kind] = append(byKind[key.Kind], key)
			known = true
		}
	}
	for _, key := range to.keys {
		note(key)
	}
	for _, key := range from.keys {
		if to.views[key] == nil {
			note(key)
		}
	}
	changes = []viewChange{}
	place := places(from, to)
	for _, kind := range projections.Kinds() {
		slices.SortStableFunc(byKind[kind], func(a, b projections.ViewKey) int { return place(a) - place(b) })
		for _, key := range byKind[kind] {
			was, err := from.fields(key)
			if err != nil {
				return nil, known, err
			}
			is, err := to.fields(key)
			if err != nil {
				return nil, known, err
			}
			if change, differs := compare(key, was, is); differs {
				changes = append(changes, change)
			}
		}
	}
	return changes, known, nil
}

// places returns the place of a view's project among all projects, -1 of a view without one. A server lists the objects
// of all projects in the order in which they were created, a file project by project; sorted by it, both are the same.
func places(from, to *past) func(projections.ViewKey) int {
	known := map[string]int{}
	for _, p := range []*past{to, from} {
		for _, key := range p.keys {
			if _, seen := known[key.ID]; key.Kind == projections.KindProject && !seen {
				known[key.ID] = len(known)
			}
		}
	}
	return func(key projections.ViewKey) int {
		view := to.views[key]
		if view == nil {
			view = from.views[key]
		}
		if at, known := known[projectOf(key, view)]; known {
			return at
		}
		return -1
	}
}

// fields returns the fields of a view, nil if there was none.
func (p *past) fields(key projections.ViewKey) (fields, error) {
	view := p.views[key]
	if view == nil {
		return nil, nil
	}
	return fieldsOf(key.Kind, encoded(view))
}

// namesIn returns the names of the sessions and the titles of the tasks, by id: the newest.
func namesIn(moments ...*past) map[string]string {
	names := map[string]string{}
	for _, p := range moments {
		for key, view := range p.views {
			switch x := view.(type) {
			case projections.TaskView:
				names[key.ID] = x.Title
			case projections.SessionView:
				names[key.ID] = x.Name
			}
		}
	}
	return names
}

func (c *auditDiff) show(d difference, names map[string]string) {
	switch {
	case c.InLines():
		for _, change := range d.Changes {
			c.WriteJSON(change)
		}
		return
	case !c.JSON && c.Quiet():
		for _, change := range d.Changes {
			c.Print("%s\n", change.ID)
		}
		return
	}
	c.Result(d, func() {
		if len(d.Changes) == 0 {
			c.Print("Nothing differs between %s and %s\n", d.From, d.To)
			return
		}
		c.Print("From %s to %s\n", d.From, d.To)
		for _, kind := range projections.Kinds() {
			others := func(x viewChange) bool { return x.Kind != kind }
			c.showKind(kind, slices.DeleteFunc(slices.Clone(d.Changes), others), names)
		}
	})
}

// String names a moment.
func (p *past) String() string {
	if p.Sequence == 0 {
		return "the beginning"
	}
	return "event " + moment{sequence: p.Sequence}.text() + cli.Prefixed(", ", p.Time)
}

// showKind shows the changes of the objects of a kind.
func (c *auditDiff) showKind(kind projections.Kind, changes []viewChange, names map[string]string) {
	if len(changes) == 0 {
		return
	}
	counts := map[string]int{}
	for _, change := range changes {
		counts[change.Change]++
	}
	var counted []string
	for _, what := range []string{created, changed, removed} {
		if n := counts[what]; n > 0 {
			counted = append(counted, cli.Many(n, noun(kind))+" "+what)
		}
	}
	c.Print("\n%s\n", strings.Join(counted, ", "))
	for _, change := range changes {
		c.Below(marks[change.Change], change.fullLine(names))
	}
}
