package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"maestro/commands"
	"maestro/internal/safetext"
	"maestro/projections"
	"maestro/workers/manifest"
)

// listsLooked bounds how many tasks below a session's tasks, and how many tasks that depend on them, are examined:
// deleted tasks stay in these lists.
const listsLooked = 10_000

// sourceSize is the approximate memory that one task takes while a manifest is created, in bytes.
const sourceSize = 600

// errUndecided says that what prevents the manifest also prevents the spawn.
var errUndecided = errors.New("service: the decision says what is wrong")

// gathering collects the content of a manifest about tasks, in portions. The state changes between two portions: each
// task is described as of the time when it is read.
type gathering struct {
	// from is the result. long are those of its texts that are stored elsewhere.
	from *manifest.Source
	long []longText
	// project is "" if there is nothing to collect. ids are the session's tasks, each once.
	project string
	ids     []string
	// spawns says that a session is spawned with the manifest, and with this free context.
	spawns  bool
	context json.RawMessage
	// like is the session that a spawned one without tasks is to be like; "" if there is none.
	like string

	// dependencies counts the dependencies of the session's tasks.
	dependencies int
	own, around  []*projections.Task
	told         map[string]bool
	lists        []tasksAround
	children     quotaOfList
	dependents   quotaOfList
	// sources counts the tasks whose sources are complete.
	sources int
	before  *predecessors

	// looked counts the steps that are not charged yet.
	looked int
	caller *Caller
	held   int64
	err    error
}

// quotaOfList is how many more tasks of a kind of list may be examined, and how many described.
type quotaOfList struct{ looks, told int }

// tasksAround is a list of tasks related to one of the session's.
type tasksAround struct {
	ids []string
	// quota is nil if all tasks are described. sorted says that they are described in order of creation, from a
	// position on.
	quota         *quotaOfList
	sorted, begun bool
	from          int
}

// undecided reports whether the decision of the spawn states the error.
func (g *gathering) undecided() bool { return errors.Is(g.err, errUndecided) }

// freeManifest is the part of each manifest's memory that is not counted, so that an ordinary manifest can be created
// whatever others use.
const freeManifest = 256 << 10

// hold counts memory that the manifest takes while it is created, or refuses it with a Problem. free ends the count.
func (g *gathering) hold(c *Caller, bytes int64) error {
	if bytes -= freeManifest; c.admission == nil || bytes <= 0 {
		return nil
	}
	if err := c.admission.Render(bytes); err != nil {
		return err
	}
	g.caller, g.held = c, g.held+bytes
	return nil
}

func (g *gathering) free() {
	if g.held > 0 {
		g.caller.admission.Free(g.held)
	}
	g.held = 0
}

// gather collects the content of a manifest. The limits bound the session's tasks and their dependencies, and
// MostAround bounds the rest. It pays for the look-ups in advance, and counts the memory that they take.
func (s *Service) gather(ctx context.Context, c *Caller, g *gathering) error {
	if g.project == "" {
		return nil
	}
	g.err = s.gatherAll(ctx, c, g)
	return g.err
}

func (s *Service) gatherAll(ctx context.Context, c *Caller, g *gathering) error {
	if err := g.within(); err != nil {
		return err
	}
	steps, err := s.portions(ctx, c, g.ownTasks)
	g.looked += steps
	if err == nil {
		err = g.within()
	}
	if err != nil {
		c.worked(g.looked)
		return err
	}
	looks := g.looks()
	if err := s.payWork(ctx, c, g.looked+looks); err != nil {
		return err
	}
	if err := g.hold(c, int64(len(g.own)+looks)*sourceSize); err != nil {
		return err
	}
	steps, err = s.portions(ctx, c, g.othersAround)
	c.worked(max(0, steps-looks))
	if err == nil {
		err = s.workOn(ctx, c, g.makeSources)
	}
	if err == nil && g.spawns {
		g.from.Custom = custom(g.ids, g.context, g.before)
	}
	return err
}

// within refuses what the limits rule out.
func (g *gathering) within() error {
	err := commands.CheckManifestSize(len(g.ids), g.dependencies)
	if err != nil && g.spawns {
		return errUndecided
	}
	return err
}

// missing returns the error for a task or a project that does not exist.
func (g *gathering) missing(kind, id string) error {
	if g.spawns {
		return errUndecided
	}
	return NotFound(kind, id)
}

// ownTasks looks up the project and the session's tasks.
func (g *gathering) ownTasks(v View, until uint64) (done bool, err error) {
	p := v.Project(g.project)
	if p == nil {
		return false, g.missing("Project", g.project)
	}
	session := &g.from.Said.Session
	session.WorkingDirectory = cmpOr(session.WorkingDirectory, p.WorkingDir)
	for len(g.own) < len(g.ids) && v.Steps() < until {
		id := g.ids[len(g.own)]
		t := v.Task(id)
		if t == nil {
			return false, g.missing("Task", id)
		}
		g.own = append(g.own, t)
		g.dependencies += len(t.Dependencies)
		g.lists = append(g.lists,
			tasksAround{ids: t.Dependencies},
			tasksAround{ids: []string{t.ParentID}},
			tasksAround{ids: v.ChildIDs(id), quota: &g.children},
			tasksAround{ids: v.DependentIDs(id), quota: &g.dependents, sorted: true})
	}
	return len(g.own) == len(g.ids), nil
}

// looks returns how many tasks related to the session's are examined, or a few more.
func (g *gathering) looks() int {
	g.children = quotaOfList{listsLooked, manifest.MostAround}
	g.dependents = g.children
	g.told = make(map[string]bool, len(g.own))
	for _, id := range g.ids {
		g.told[id] = true
	}
	least := map[*quotaOfList]int{}
	for _, list := range g.lists {
		if list.quota != nil {
			least[list.quota] += len(list.ids)
		}
	}
	return g.dependencies + len(g.own) +
		min(least[&g.children], manifest.MostAround) + min(least[&g.dependents], manifest.MostAround)
}

// othersAround looks up the tasks related to the session's.
func (g *gathering) othersAround(v View, until uint64) (done bool, err error) {
	for ; len(g.lists) > 0; g.lists = g.lists[1:] {
		list := &g.lists[0]
		if !list.begun {
			list.begun, list.from = true, len(g.around)
		}
		for ; len(list.ids) > 0; list.ids = list.ids[1:] {
			if q := list.quota; q != nil && (q.looks == 0 || q.told == 0) {
				break
			}
			if v.Steps() >= until {
				return false, nil
			}
			g.other(v, list.ids[0], list.quota)
		}
		if found := g.around[list.from:]; list.sorted {
			slices.SortStableFunc(found, func(a, b *projections.Task) int {
				return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), strings.Compare(a.ID, b.ID))
			})
		}
	}
	return true, nil
}

func (g *gathering) other(v View, id string, quota *quotaOfList) {
	if quota != nil {
		quota.looks--
	}
	t := v.Task(id)
	if t == nil || g.told[id] {
		return
	}
	if quota != nil {
		quota.told--
	}
	g.told[id] = true
	g.around = append(g.around, t)
}

// makeSources creates the sources of the tasks, and looks up the session's predecessors.
func (g *gathering) makeSources(v View, until uint64) (done bool, err error) {
	for ; g.sources < len(g.own)+len(g.around); g.sources++ {
		if v.Steps() >= until {
			return false, nil
		}
		if g.sources < len(g.own) {
			t := g.own[g.sources]
			g.longTexts(t)
			g.from.Tasks = append(g.from.Tasks, taskSource(v, t))
		} else {
			g.from.Around = append(g.from.Around, taskSource(v, g.around[g.sources-len(g.own)]))
		}
	}
	switch {
	case !g.spawns:
	case len(g.own) > 0:
		g.before = v.predecessors(g.own[0])
	case g.like != "":
		g.before = v.predecessorIn(g.like)
	}
	return true, nil
}

// longTexts notes which texts of a session's task are stored elsewhere.
func (g *gathering) longTexts(t *projections.Task) {
	for _, field := range []string{"description", "initialPrompt"} {
		if field == "initialPrompt" && len(g.from.Tasks) > 0 {
			break // only that of the primary task is included
		}
		if digest := t.Blobs[field]; digest != "" {
			g.long = append(g.long, longText{len(g.from.Tasks), field, digest})
		}
	}
}

func taskSource(v View, t *projections.Task) manifest.TaskSource {
	v.Worked(1)
	source := manifest.TaskSource{
		ID:                 t.ID,
		Title:              t.Title,
		Description:        t.Description,
		ParentID:           t.ParentID,
		AcceptanceCriteria: t.AcceptanceCriteria,
		Dependencies:       t.Dependencies,
		Priority:           t.Priority,
		ProjectID:          t.ProjectID,
		CreatedAt:          t.CreatedAt,
		Metadata:           t.Metadata,
		Reopened:           safetext.Shorten(t.ReopenReason(), predecessorBytes),
		Status:             t.Status,
		InitialPrompt:      t.InitialPrompt,
	}
	if result := v.ShownResult(t); result != nil { // the statement of the last completion
		source.Result = result.Text
	}
	return source
}
