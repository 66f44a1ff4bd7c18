package benchmark

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"maestro/bus"
	"maestro/commands"
	"maestro/projections"
	"maestro/service/wire"
)

const (
	// listedTasks are in the project that clients list, listedPage on a page, listedBy the clients that list at once.
	listedTasks = 50_000
	listedPage  = 100
	listedBy    = 2
	// reportsEach is how many reports one turn has, one after the other.
	reportsEach = 400
)

// listing measures what readers of a project with many tasks cost: a report while two clients list all of its tasks,
// page after page, against the same report without them; and a page, a tree and what changed lately, against a handler
// that sends as many bytes.
func listing(ctx context.Context, o Options, report func(Check)) (err error) {
	b, err := newBench(ctx, o, "listing", bus.Always)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	if err := b.manyTasks(ctx, listedTasks); err != nil {
		return err
	}
	ours, authorization, err := b.serve(o)
	if err != nil {
		return err
	}
	defer ours.close()
	body := fmt.Appendf(nil, `{"message":%q,"taskIds":[%q]}`, message, b.task)
	run := 0
	slowest := func() (float64, error) { // the 99th percentile, in microseconds
		run++
		took := make([]time.Duration, 0, reportsEach)
		for i := range reportsEach {
			begin := time.Now()
			if err := ours.once(ctx, authorization, fmt.Sprint("listing ", run, ".", i), body); err != nil {
				return 0, err
			}
			took = append(took, time.Since(begin))
		}
		slices.Sort(took)
		return microseconds(1, took[len(took)*99/100], nil)
	}
	reader := &listReader{endpoint: ours, project: b.worker.Project, authorization: o.Admin}
	figures, err := turns(o.Rounds,
		func() (float64, error) {
			stop := reader.list(ctx)
			p99, err := slowest()
			return p99, errors.Join(err, stop())
		},
		slowest)
	if err != nil {
		return err
	}
	report(atMost("report_while_listing", 3, figures[0], figures[1], "µs",
		fmt.Sprintf("the p99 without the clients, which read %d pages a second", reader.rate())))
	return b.reads(ctx, o, reader, report)
}

// reads measures answers about the project against a handler that sends as many bytes.
func (b *bench) reads(ctx context.Context, o Options, reader *listReader, report func(Check)) error {
	bare, err := listen(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Query().Get("bytes"))
		_, _ = w.Write(make([]byte, n))
	}))
	if err != nil {
		return err
	}
	defer bare.close()
	var head uint64
	b.handler.View(func(s *projections.State) { head = s.Head().Sequence })
	project := "projectId=" + reader.project
	for _, c := range []struct {
		name, path string
		goal       float64
	}{
		{"page_of_100_tasks", "/api/tasks?limit=100&" + project, 10},
		{"tree_of_a_task", "/api/tasks/" + b.task + "?tree=true", 10},
		{"since_100_events", fmt.Sprintf("/api/since?projectId=%s&from=%d", reader.project, head-100), 10},
	} {
		length := 0
		each := func(e *endpoint, path string) sample {
			return func() (float64, error) {
				const n = 30
				begin := time.Now()
				for range n {
					if length, err = e.get(ctx, e.base+path, reader.authorization, nil); err != nil {
						return 0, err
					}
				}
				return microseconds(n, time.Since(begin), nil)
			}
		}
		if _, err := each(reader.endpoint, c.path)(); err != nil {
			return err
		}
		figures, err := turns(o.Rounds, each(reader.endpoint, c.path), each(bare, "/?bytes="+strconv.Itoa(length)))
		if err != nil {
			return err
		}
		report(atMost(c.name, c.goal, figures[0], figures[1], "µs",
			fmt.Sprintf("a handler that sends %d bytes", length)))
	}
	return nil
}

// manyTasks creates tasks in the project.
func (b *bench) manyTasks(ctx context.Context, n int) error {
	const callers = 256
	in := commands.ProjectRef{Project: b.worker.Project}
	return atOnceBy(callers, n, func(i int) error {
		create := &commands.CreateTask{ProjectRef: in, Title: "Task " + strconv.Itoa(i)}
		_, err := b.do(ctx, commands.Admin(commands.AuthnToken), create, "listed "+strconv.Itoa(i))
		return err
	})
}

// listReader lists the tasks of a project.
type listReader struct {
	*endpoint
	project, authorization string

	mu    sync.Mutex
	pages int
	took  time.Duration
}

// list has clients list all tasks, again and again, until stop is called, which returns their error.
func (r *listReader) list(ctx context.Context) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	failed := make(chan error, listedBy)
	begin := time.Now()
	var all sync.WaitGroup
	for range listedBy {
		all.Go(func() {
			cursor := ""
			for ctx.Err() == nil {
				next, err := r.page(ctx, cursor)
				if err != nil && ctx.Err() == nil {
					failed <- err
					return
				}
				cursor = next
				r.mu.Lock()
				r.pages++
				r.mu.Unlock()
			}
		})
	}
	return func() error {
		cancel()
		all.Wait()
		r.took += time.Since(begin)
		select {
		case err := <-failed:
			return err
		default:
			return nil
		}
	}
}

// page reads one page of tasks, and returns where the next one begins.
func (r *listReader) page(ctx context.Context, cursor string) (next string, err error) {
	url := r.base + "/api/tasks?projectId=" + r.project + "&limit=" + strconv.Itoa(listedPage)
	if cursor != "" {
		url += "&cursor=" + cursor
	}
	var header http.Header
	_, err = r.get(ctx, url, r.authorization, &header)
	return header.Get(wire.HeaderNext), err
}

// rate returns how many pages were read a second.
func (r *listReader) rate() int { return int(float64(r.pages) / r.took.Seconds()) }

// get reads an answer to its end, and returns its length. The answer's header goes to header, if it is not nil.
func (e *endpoint) get(ctx context.Context, url, authorization string, header *http.Header) (length int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Authorization", authorization)
	response, err := e.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(response.Body)
		return 0, fmt.Errorf("GET %s: %s: %s", url, response.Status, text)
	}
	if header != nil {
		*header = response.Header
	}
	n, err := io.Copy(io.Discard, response.Body)
	return int(n), err
}
