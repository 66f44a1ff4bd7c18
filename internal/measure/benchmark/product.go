package benchmark

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"maestro/bus"
	"maestro/commands"
	"maestro/engine"
	"maestro/events"
)

// product is a Handler over a bus, with a session that reports on its task.
type product struct {
	bus     *bus.Bus
	handler *engine.Handler
	worker  commands.Actor
	task    string
	runs    int
}

const message = "Implementing authentication endpoints"

func newProduct(ctx context.Context, b *bus.Bus) (*product, error) {
	p, err := newProductOn(ctx, b)
	if err == nil {
		p.bus = b
	}
	return p, err
}

func newProductOn(ctx context.Context, log engine.Log) (*product, error) {
	return newProductWith(ctx, log, nil)
}

// newProductWith returns a product that stores snapshots when it is told to.
func newProductWith(ctx context.Context, log engine.Log, snapshots engine.Snapshots) (*product, error) {
	h, err := engine.Open(ctx, engine.Config{
		Log:           log,
		Snapshots:     snapshots,
		SnapshotEvery: 1 << 40,
		Now:           time.Now,
		After:         time.After,
	})
	if err != nil {
		return nil, err
	}
	p := &product{handler: h}
	admin := commands.Admin(commands.AuthnToken)
	made, err := p.do(ctx, admin, &commands.CreateProject{Name: "Bench"}, "project")
	if err != nil {
		return nil, err
	}
	project := made.(*events.ProjectCreated).ProjectID
	in := commands.ProjectRef{Project: project}
	if made, err = p.do(ctx, admin, &commands.CreateTask{ProjectRef: in, Title: "Task"}, "task"); err != nil {
		return nil, err
	}
	p.task = made.(*events.TaskCreated).TaskID
	spawn := &commands.SpawnSession{ProjectRef: in, TaskIDs: []string{p.task}}
	if made, err = p.do(ctx, admin, spawn, "session"); err != nil {
		return nil, err
	}
	p.worker = commands.SessionActor(project, made.(*events.SessionSpawned).SessionID, commands.AuthnToken)
	return p, nil
}

func (p *product) do(ctx context.Context, by commands.Actor, c commands.Command, key string) (events.Data, error) {
	answer, err := p.handler.Do(ctx, engine.Request{By: by, Command: c, Key: key})
	return answer.Data, err
}

func (p *product) close() error {
	p.handler.Close()
	return p.bus.Close()
}

// reports makes n reports, divided among the callers, and returns how long that took.
func (p *product) reports(ctx context.Context, callers, n int) (time.Duration, error) {
	p.runs++
	run := strconv.Itoa(p.runs) + "."
	failed := make(chan error, callers)
	begin := time.Now()
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			key := run + strconv.Itoa(caller) + "."
			for i := range n / callers {
				report := &commands.Report{Kind: events.ReportProgress, Message: message, TaskIDs: []string{p.task}}
				if _, err := p.do(ctx, p.worker, report, key+strconv.Itoa(i)); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	all.Wait()
	took := time.Since(begin)
	select {
	case err := <-failed:
		return 0, fmt.Errorf("report: %w", err)
	default:
		return took, nil
	}
}

// body returns the event of such a report, for the baselines to publish.
func (p *product) body(ctx context.Context) ([]byte, error) {
	answer, err := p.handler.Do(ctx, engine.Request{
		By: p.worker, Command: &commands.Report{
			Kind: events.ReportProgress, Message: message,
			TaskIDs: []string{p.task},
		}, Key: "sample",
	})
	return answer.Event, err
}
