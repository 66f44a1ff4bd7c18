package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"maestro/commands"
	"maestro/projections"
	"maestro/workers/manifest"
)

// listsLooked is how many tasks below those of a session, and how many that depend on them, are looked at: deleted ones
// stay in these lists.
const listsLooked = 10_000

// sourceSize is about how much memory one task takes while a manifest is made, in bytes.
const sourceSize = 600

// errUndecided says that what keeps a manifest from being made keeps its session from being spawned too.
var errUndecided = errors.New("service: the decision says what is wrong")

// gathering gathers what a manifest tells of tasks, a portion at a time. Between two portions the state moves: each
// task is told as it is when it is looked at.
type gathering struct {
	// from is what it fills in, long are those of its texts that are elsewhere.
	from *manifest.Source
	long []longText
	// project is "" if nothing is to be gathered. ids are the session's tasks, each once.
	project string
	ids     []string
	// spawns says that a session is spawned with the manifest, and with this free context.
	spawns  bool
	context json.RawMessage

	// dependencies counts those of the session's tasks.
	dependencies int
	own, around  []*projections.Task
	told         map[string]bool
	lists        []tasksAround
	children     quotaOfList
	dependents   quotaOfList
	// sources counts the tasks whose sources are made.
	sources int
	before  *predecessor

	// looked counts the steps that are not charged yet.
	looked int
	caller *Caller
	held   int64
	err    error
}

// quotaOfList is how many tasks of a kind of lists may still be looked at, and how many told.
type quotaOfList struct{ looks, told int }

// tasksAround is a list of tasks that have to do with one of the session's.
type tasksAround struct {
	ids []string
	// quota is nil where all are told. sorted says that they are told in order of creation, from a place on.
	quota         *quotaOfList
	sorted, begun bool
	from          int
}

// undecided reports whether the decision of the spawn says what is wrong.
func (g *gathering) undecided() bool { return errors.Is(g.err, errUndecided) }

// freeManifest is how much memory of each manifest counts for nothing: an honest one is made whatever others hold.
const freeManifest = 256 << 10

// hold counts memory that the manifest takes while it is made, or refuses it with a Problem. free ends the count.
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

// gather gathers what a manifest tells: the limits bound the session's tasks and what they wait for, and MostAround
// bounds the rest. The look-ups are paid for before they are made, and the memory that they take is counted.
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

// missing answers to a task or a project that is not there.
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

// looks returns how many tasks around the session's are looked at, or a few more.
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

// othersAround looks up the tasks that have to do with the session's.
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

// makeSources makes the sources of the tasks, and looks up the predecessor of the session.
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
	if g.spawns && len(g.own) > 0 {
		g.before = v.predecessor(g.own[0])
	}
	return true, nil
}

// longTexts remembers which texts of a task of the session are elsewhere.
func (g *gathering) longTexts(t *projections.Task) {
	for _, field := range []string{"description", "initialPrompt"} {
		if field == "initialPrompt" && len(g.from.Tasks) > 0 {
			break // only that of the primary task is told
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
		Status:             t.Status,
		InitialPrompt:      t.InitialPrompt,
	}
	if result := v.Result(t); result != nil { // what was said when it was last said to be completed
		source.Result = result.Text
	}
	return source
}
