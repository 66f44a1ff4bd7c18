package benchmark

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"maestro/bus"
	"maestro/commands"
	"maestro/events"
)

// spawnedBy are the clients that spawn sessions at once, spawnedEach the sessions that each of them spawns in a turn.
const (
	spawnedBy   = 64
	spawnedEach = 30
)

// spawns measures durable spawns over HTTP, each with a manifest of its own, against tasks that as many clients create.
func spawns(ctx context.Context, o Options, report func(Check)) (err error) {
	b, err := newBench(ctx, o, "spawns", bus.Always)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	ours, _, err := b.serve(o)
	if err != nil {
		return err
	}
	defer ours.close()
	var (
		run     int
		project string // one for each run: the sessions of a project are limited
		tasks   []string
	)
	each := func(command string, body func(i int) []byte) sample {
		const n = spawnedBy * spawnedEach
		return func() (float64, error) {
			run++
			begin := time.Now()
			err := atOnceBy(spawnedBy, n, func(i int) error {
				key := fmt.Sprint(command, " ", run, ".", i)
				return ours.command(ctx, ours.base+"/api/commands/"+command, o.Admin, key, body(i))
			})
			return perSecond(n, time.Since(begin), err)
		}
	}
	spawn := each("session:spawn", func(i int) []byte {
		return fmt.Appendf(nil, `{"project":%q,"taskIds":[%q]}`, project, tasks[i])
	})
	create := each("task:create", func(i int) []byte {
		return fmt.Appendf(nil, `{"project":%q,"title":"Created %d"}`, project, i)
	})
	figures, err := turns(o.Rounds,
		func() (float64, error) {
			var err error
			if project, tasks, err = b.tasksToSpawnOn(ctx, spawnedBy*spawnedEach, strconv.Itoa(run)); err != nil {
				return 0, err
			}
			return spawn()
		},
		create)
	if err != nil {
		return err
	}
	report(atLeast("session_spawn_64_durable", 0.38, figures[0], figures[1], "/s",
		"tasks created by as many clients"))
	return nil
}

// tasksToSpawnOn creates a project with tasks, and returns their ids.
func (b *bench) tasksToSpawnOn(ctx context.Context, n int, run string) (project string, tasks []string, err error) {
	admin := commands.Admin(commands.AuthnToken)
	made, err := b.do(ctx, admin, &commands.CreateProject{Name: "Spawns " + run}, "to spawn in "+run)
	if err != nil {
		return "", nil, err
	}
	project = made.(*events.ProjectCreated).ProjectID
	tasks = make([]string, n)
	return project, tasks, atOnceBy(spawnedBy, n, func(i int) error {
		create := &commands.CreateTask{
			ProjectRef: commands.ProjectRef{Project: project},
			Title:      "Task " + strconv.Itoa(i),
		}
		made, err := b.do(ctx, admin, create, fmt.Sprint("to spawn on ", run, ".", i))
		if created, ok := made.(*events.TaskCreated); ok {
			tasks[i] = created.TaskID
		}
		return err
	})
}
