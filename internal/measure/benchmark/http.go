package benchmark

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"maestro/bus"
	"maestro/service/wire"
)

const httpCallers = 64

// overHTTP measures a report through the server's whole HTTP stack, against a handler that only reads and writes the
// same JSON.
func overHTTP(ctx context.Context, o Options, report func(Check)) (err error) {
	b, err := newBench(ctx, o, "http", bus.Interval)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	ours, authorization, err := b.serve(o)
	if err != nil {
		return err
	}
	defer ours.close()
	bare, err := listen(bareHandler(b.sample))
	if err != nil {
		return err
	}
	defer bare.close()
	body := fmt.Appendf(nil, `{"message":%q,"taskIds":[%q]}`, message, b.task)
	const n = httpCallers * 100
	figures, err := turns(o.Rounds,
		func() (float64, error) {
			took, err := ours.post(ctx, authorization, body, n)
			return perSecond(n, took, err)
		},
		func() (float64, error) {
			took, err := bare.post(ctx, authorization, body, n)
			return perSecond(n, took, err)
		})
	if err != nil {
		return err
	}
	report(atLeast("http_report_64_interval", 0.4, figures[0], figures[1], "/s", "a bare handler with the same JSON"))
	return nil
}

// outside measures durable reports over HTTP by clients in a process of their own, against the same bare handler.
func outside(ctx context.Context, o Options, report func(Check)) (err error) {
	if o.Binary == "" {
		return nil
	}
	b, err := newBench(ctx, o, "outside", bus.Always)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	ours, authorization, err := b.serve(o)
	if err != nil {
		return err
	}
	defer ours.close()
	bare, err := listen(bareHandler(b.sample))
	if err != nil {
		return err
	}
	defer bare.close()
	body := fmt.Sprintf(`{"message":%q,"taskIds":[%q]}`, message, b.task)
	runs := 0
	clients := func(url string, callers int) sample {
		return func() (float64, error) {
			runs++
			return inProcess(ctx, o.Binary, clientsWork{
				Kind:          workCalls,
				URL:           url,
				Authorization: authorization,
				Body:          body,
				Key:           strconv.Itoa(runs),
				Callers:       callers,
				Calls:         callers * 60,
			})
		}
	}
	for _, c := range []struct {
		callers int
		goal    float64
	}{{8, 0.2}, {64, 0.4}, {256, 0.5}} {
		figures, err := turns(o.Rounds, clients(ours.url, c.callers), clients(bare.url, c.callers))
		if err != nil {
			return err
		}
		report(atLeast("http_outside_"+strconv.Itoa(c.callers)+"_durable", c.goal, figures[0], figures[1], "/s",
			"a bare handler with the same JSON"))
	}
	return nil
}

func httpClient(callers int) *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConns: callers, MaxIdleConnsPerHost: callers}}
}

// bareHandler reads the JSON of a report and writes the JSON of an answer.
func bareHandler(event []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var report struct {
			Message string   `json:"message"`
			TaskIDs []string `json:"taskIds"`
		}
		if err := json.NewDecoder(r.Body).Decode(&report); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(wire.Outcome{Sequence: 1, Event: event}); err != nil {
			panic(http.ErrAbortHandler)
		}
	})
}

type endpoint struct {
	// base is the server's address, url where reports go.
	base   string
	url    string
	server *http.Server
	client *http.Client
	runs   int
	// stop ends what runs beside the server, nil for nothing.
	stop func()
	// key begins the keys of the calls.
	key     string
	callers int
}

func listen(handler http.Handler) (*endpoint, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	base := "http://" + listener.Addr().String()
	return &endpoint{
		base:    base,
		url:     base + "/api/commands/report:progress",
		server:  server,
		client:  httpClient(httpCallers),
		callers: httpCallers,
	}, nil
}

// serve serves the API of a bench, and returns the header that authenticates its worker.
func (b *bench) serve(o Options) (e *endpoint, authorization string, err error) {
	handler, beside, authorization, err := o.API(b.handler, b.bus, b.worker.Project, b.worker.Name)
	if err != nil {
		return nil, "", err
	}
	if e, err = listen(handler); err != nil {
		return nil, "", err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		beside(ctx)
		close(ended)
	}()
	e.stop = func() { cancel(); <-ended }
	return e, authorization, nil
}

func (e *endpoint) close() {
	e.client.CloseIdleConnections()
	_ = e.server.Close()
	if e.stop != nil {
		e.stop()
	}
}

// post makes n requests, divided among the callers.
func (e *endpoint) post(ctx context.Context, authorization string, body []byte, n int) (time.Duration, error) {
	e.runs++
	failed := make(chan error, e.callers)
	begin := time.Now()
	var all sync.WaitGroup
	for caller := range e.callers {
		all.Go(func() {
			for i := range n / e.callers {
				key := e.key + "/" + strconv.Itoa(e.runs) + "." + strconv.Itoa(caller) + "." + strconv.Itoa(i)
				if err := e.once(ctx, authorization, key, body); err != nil {
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
		return 0, err
	default:
		return took, nil
	}
}

func (e *endpoint) once(ctx context.Context, authorization, key string, body []byte) error {
	return e.command(ctx, e.url, authorization, key, body)
}

// command posts a command to a route, and reads the answer to its end.
func (e *endpoint) command(ctx context.Context, url, authorization, key string, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", authorization)
	request.Header.Set(wire.HeaderKey, key)
	response, err := e.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("POST %s: %s: %s", url, response.Status, text)
	}
	return err
}
