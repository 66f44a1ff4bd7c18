package benchmark

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"maestro/service/wire"
)

// HTTPClients is the only argument of the process of the clients, which gets its work from stdin.
const HTTPClients = "bench-http-clients"

// The kinds of work of a process of clients.
const (
	// workCalls is to make calls, divided among the clients; its figure is their rate.
	workCalls = "calls"
	// workInTurn is to make calls one after the other; its figure is the 99th percentile of their times, in µs.
	workInTurn = "in turn"
	// workPages is to list everything, page after page, until stdin ends; its figure is the rate of the pages. A line
	// says when each client has read a page.
	workPages = "pages"
)

// clientsWork is what a process of clients does.
type clientsWork struct {
	Kind                          string
	URL, Authorization, Body, Key string
	Callers, Calls                int
}

// inProcess has clients in a process of their own do their work, and returns its figure.
func inProcess(ctx context.Context, binary string, work clientsWork) (float64, error) {
	p, err := startClients(ctx, binary, work)
	if err != nil {
		return 0, err
	}
	return p.end()
}

// clientsProcess is a process of clients.
type clientsProcess struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	stdout *bufio.Reader
	stderr bytes.Buffer
}

func startClients(ctx context.Context, binary string, work clientsWork) (*clientsProcess, error) {
	text, err := json.Marshal(work)
	if err != nil {
		return nil, err
	}
	p := &clientsProcess{cmd: exec.CommandContext(ctx, binary, HTTPClients)}
	p.cmd.Stderr = &p.stderr
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.stdin, p.stdout = stdin, bufio.NewReader(stdout)
	if _, err = stdin.Write(append(text, '\n')); err == nil && work.Kind == workPages {
		_, err = p.stdout.ReadString('\n')
	}
	if err != nil {
		_, ended := p.end()
		return nil, errors.Join(err, ended)
	}
	return p, nil
}

// end ends the process's stdin and returns its figure.
func (p *clientsProcess) end() (float64, error) {
	_ = p.stdin.Close() // a process that has ended has closed it too
	said, err := io.ReadAll(p.stdout)
	if err = errors.Join(err, p.cmd.Wait()); err != nil {
		return 0, errors.Join(err, errors.New(p.stderr.String()))
	}
	return strconv.ParseFloat(strings.TrimSpace(string(said)), 64)
}

// Clients is the process of the clients: it does the work that in describes, and writes the figure to out.
func Clients(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	text, err := lines.ReadBytes('\n')
	if err != nil {
		return err
	}
	var work clientsWork
	if err := json.Unmarshal(text, &work); err != nil {
		return err
	}
	e := &endpoint{
		url:     work.URL,
		client:  httpClient(work.Callers),
		key:     work.Key,
		callers: work.Callers,
	}
	defer e.client.CloseIdleConnections()
	var figure float64
	switch work.Kind {
	case workCalls:
		took, failed := e.post(ctx, work.Authorization, []byte(work.Body), work.Calls)
		figure, err = perSecond(work.Calls, took, failed)
	case workInTurn:
		figure, err = e.slowest(ctx, work.Authorization, []byte(work.Body), work.Calls)
	case workPages:
		figure, err = e.list(ctx, work.Authorization, func() error {
			if _, err := fmt.Fprintln(out, "reading"); err != nil {
				return err
			}
			_, err := io.Copy(io.Discard, lines)
			return err
		})
	default:
		err = fmt.Errorf("unknown work %q", work.Kind)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, figure)
	return err
}

// slowest makes n requests, one after the other, and returns the 99th percentile of their times, in microseconds.
func (e *endpoint) slowest(ctx context.Context, authorization string, body []byte, n int) (float64, error) {
	took := make([]time.Duration, 0, n)
	for i := range n {
		begin := time.Now()
		if err := e.once(ctx, authorization, e.key+"/"+strconv.Itoa(i), body); err != nil {
			return 0, err
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	return microseconds(1, took[n*99/100], nil)
}

// list has the callers list everything at the endpoint, page after page, again and again. Once each has read a page, it
// calls until. When that returns, it returns how many pages were read a second.
func (e *endpoint) list(ctx context.Context, authorization string, until func() error) (float64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	first := make(chan error, e.callers)
	var pages atomic.Int64
	var all sync.WaitGroup
	begin := time.Now()
	failed := make(chan error, e.callers)
	for range e.callers {
		all.Go(func() {
			next, err := e.page(ctx, authorization, "")
			first <- err
			for err == nil {
				pages.Add(1)
				next, err = e.page(ctx, authorization, next)
			}
			if ctx.Err() == nil {
				failed <- err
			}
		})
	}
	var err error
	for range e.callers {
		err = errors.Join(err, <-first)
	}
	if err == nil {
		err = until()
	}
	took := time.Since(begin)
	select {
	case broken := <-failed:
		err = errors.Join(err, broken)
	default:
	}
	cancel()
	all.Wait()
	return float64(pages.Load()) / took.Seconds(), err
}

// page reads one page, and returns where the next one begins; "" after the last.
func (e *endpoint) page(ctx context.Context, authorization, cursor string) (next string, err error) {
	path := e.url
	if cursor != "" {
		path += "&cursor=" + url.QueryEscape(cursor)
	}
	var header http.Header
	_, err = e.get(ctx, path, authorization, &header)
	return header.Get(wire.HeaderNext), err
}
