package benchmark

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"maestro/bus"
	"maestro/commands"
	"maestro/projections"
)

const (
	// listedTasks are in the project that clients list, listedPage on a page, listedBy the clients that list at once.
	listedTasks = 50_000
	listedPage  = 100
	listedBy    = 2
	// reportsEach is how many reports one turn has, one after the other.
	reportsEach = 1000
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
	bare, err := listen(bytesHandler())
	if err != nil {
		return err
	}
	defer bare.close()
	r := &listReader{
		ours:          ours,
		bare:          bare,
		project:       b.worker.Project,
		authorization: o.Admin,
	}
	if o.Binary != "" {
		body := fmt.Sprintf(`{"message":%q,"taskIds":[%q]}`, message, b.task)
		if err := r.whileListing(ctx, o, authorization, body, report); err != nil {
			return err
		}
	}
	return b.reads(ctx, o, r, report)
}

// listReader reads the tasks of a project, or as many bytes from a bare handler.
type listReader struct {
	ours, bare             *endpoint
	project, authorization string
}

// pageURL is the address of the first page.
func (r *listReader) pageURL() string {
	return r.ours.base + "/api/tasks?projectId=" + r.project + "&limit=" + strconv.Itoa(listedPage)
}

// whileListing measures the slowest reports of a client while others list. All are in processes of their own, as the
// clients of a server are. Without listing, the process of the listing clients is there too, and does nothing. A third
// turn, for people, has them read as many bytes from a bare handler: what it costs that they use the same processors.
func (r *listReader) whileListing(
	ctx context.Context, o Options, authorization, body string, report func(Check),
) error {
	length, err := r.ours.get(ctx, r.pageURL(), r.authorization, nil)
	if err != nil {
		return err
	}
	run := 0
	var rates []float64
	beside := func(url string, callers int) sample {
		return func() (float64, error) {
			run++
			lists, err := startClients(ctx, o.Binary, clientsWork{
				Kind:          workPages,
				URL:           url,
				Authorization: r.authorization,
				Callers:       callers,
			})
			if err != nil {
				return 0, err
			}
			p99, err := inProcess(ctx, o.Binary, clientsWork{
				Kind:          workInTurn,
				URL:           r.ours.url,
				Authorization: authorization,
				Body:          body,
				Key:           "listing " + strconv.Itoa(run),
				Callers:       1,
				Calls:         reportsEach,
			})
			rate, ended := lists.end()
			if url == r.pageURL() && callers > 0 {
				rates = append(rates, rate)
			}
			return p99, errors.Join(err, ended)
		}
	}
	figures, err := turns(o.Rounds,
		beside(r.pageURL(), listedBy),
		beside(r.pageURL(), 0),
		beside(r.bare.base+"/?bytes="+strconv.Itoa(length), listedBy))
	if err != nil {
		return err
	}
	report(atMost("report_while_listing", 3, figures[0], figures[1], "µs",
		fmt.Sprintf("the p99 without the clients, which read %.0f pages a second; %.4g while they read a bare handler",
			median(rates), median(figures[2]))))
	return nil
}

// bytesHandler sends as many bytes as the query says.
func bytesHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Query().Get("bytes"))
		_, _ = w.Write(make([]byte, n))
	})
}

// reads measures answers about the project against a handler that sends as many bytes.
func (b *bench) reads(ctx context.Context, o Options, r *listReader, report func(Check)) error {
	var head uint64
	b.handler.View(func(s *projections.State) { head = s.Head().Sequence })
	project := "projectId=" + r.project
	for _, c := range []struct {
		name, path string
		goal       float64
	}{
		{"page_of_100_tasks", "/api/tasks?limit=100&" + project, 10},
		{"tree_of_a_task", "/api/tasks/" + b.task + "?tree=true", 10},
		{"since_100_events", fmt.Sprintf("/api/since?projectId=%s&from=%d", r.project, head-100), 10},
	} {
		length := 0
		each := func(e *endpoint, path string) sample {
			return func() (float64, error) {
				const n = 30
				begin := time.Now()
				for range n {
					var err error
					if length, err = e.get(ctx, e.base+path, r.authorization, nil); err != nil {
						return 0, err
					}
				}
				return microseconds(n, time.Since(begin), nil)
			}
		}
		if _, err := each(r.ours, c.path)(); err != nil {
			return err
		}
		figures, err := turns(o.Rounds, each(r.ours, c.path), each(r.bare, "/?bytes="+strconv.Itoa(length)))
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
