package benchmark

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"maestro/bus"
	"maestro/commands"
	"maestro/events"
	"maestro/service/wire"
)

const (
	// liveReports is how many reports one round of the live views has, one after the other.
	liveReports = 300
	// liveLoad is how many events a second others write in the loaded cases.
	liveLoad = 5000
)

// liveCase is a number of readers of the live views, with the query of the others beside the one that is measured.
type liveCase struct {
	name    string
	others  int
	query   string
	load    bool
	stalled bool
}

// live measures when a frame reaches a reader of the live views: from the request of a report to its frame, against the
// time to the report's own answer, and from that answer on.
func live(ctx context.Context, o Options, report func(Check)) (err error) {
	b, err := newBench(ctx, o, "live", bus.Always)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	ours, authorization, err := b.serve(o)
	if err != nil {
		return err
	}
	defer ours.close()
	for _, c := range []liveCase{
		{name: "1_reader"},
		{name: "20_readers", others: 19},
		{name: "20_readers_1_stalled", others: 18, stalled: true},
		{name: "100_filtered", others: 99, query: "&kinds=template"},
		{name: "1000_idle", others: 999, query: "&kinds=template"},
		{name: "1_reader_loaded", load: true},
		{name: "20_readers_loaded", others: 19, load: true},
		{name: "100_filtered_loaded", others: 99, query: "&kinds=template", load: true},
		{name: "1000_idle_loaded", others: 999, query: "&kinds=template", load: true},
	} {
		if err := b.liveCase(ctx, o, ours, authorization, c, report); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

func (b *bench) liveCase(
	ctx context.Context, o Options, ours *endpoint, authorization string, c liveCase, report func(Check),
) error {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	begun := make(chan error, c.others+1)
	arrived := newArrivals()
	url := ours.base + "/api/live?after=now"
	all.Go(func() { readLive(ctx, ours.client, url, o.Admin, begun, arrived.at) })
	for range c.others {
		all.Go(func() { readLive(ctx, ours.client, url+c.query, o.Admin, begun, func(uint64) {}) })
	}
	for range c.others + 1 {
		if err := <-begun; err != nil {
			return err
		}
	}
	if c.stalled {
		stalled, err := stall(ctx, ours.base, "/api/live", o.Admin)
		if err != nil {
			return err
		}
		defer func() { _ = stalled.Close() }()
	}
	var written atomic.Int64
	if c.load {
		all.Go(func() { b.write(ctx, liveLoad, &written) })
	}
	var frames50, frames99, answers50, answers99, after50, after99, rates, wanted []float64
	for round := range o.Rounds + 1 {
		began, before := time.Now(), written.Load()
		frames, answers, after, err := b.timeFrames(ctx, ours, authorization, c.name+strconv.Itoa(round), arrived)
		if err != nil {
			return err
		}
		if round > 0 { // the first one warms up
			frames50, frames99 = append(frames50, at(frames, 50)), append(frames99, at(frames, 99))
			answers50, answers99 = append(answers50, at(answers, 50)), append(answers99, at(answers, 99))
			after50, after99 = append(after50, at(after, 50)), append(after99, at(after, 99))
			rates = append(rates, float64(written.Load()-before)/time.Since(began).Seconds())
			wanted = append(wanted, liveLoad)
		}
	}
	report(atMost("frame_p50_"+c.name, 1.5, frames50, answers50, "µs", "the p50 of the report's own answer"))
	report(atMost("frame_p99_"+c.name, 3, frames99, answers99, "µs", "the p99 of the report's own answer"))
	report(compared("ack_to_frame_p50_"+c.name, 0, after50, answers50, "µs", "the p50 of the report's own answer"))
	report(compared("ack_to_frame_p99_"+c.name, 0, after99, answers99, "µs", "the p99 of the report's own answer"))
	if c.load {
		report(atLeast("written_"+c.name, 0.9, rates, wanted, "/s", "the events a second that others are to write"))
	}
	return nil
}

// timeFrames sends reports, one after the other, and returns in µs when their frames and their answers came, and how
// long after its answer each frame came, 0 if it came before.
func (b *bench) timeFrames(
	ctx context.Context, ours *endpoint, authorization, key string, arrived *arrivals,
) (frames, answers, after []float64, err error) {
	body := fmt.Appendf(nil, `{"message":%q,"taskIds":[%q]}`, message, b.task)
	for i := range liveReports {
		sent := time.Now()
		sequence, err := ours.reported(ctx, authorization, "live "+key+" "+strconv.Itoa(i), body)
		if err != nil {
			return nil, nil, nil, err
		}
		answered := time.Now()
		came, err := arrived.of(ctx, sequence)
		if err != nil {
			return nil, nil, nil, err
		}
		frames = append(frames, float64(came.Sub(sent).Microseconds()))
		answers = append(answers, float64(answered.Sub(sent).Microseconds()))
		after = append(after, float64(max(came.Sub(answered), 0).Microseconds()))
	}
	return frames, answers, after, nil
}

// at returns a percentile of figures.
func at(figures []float64, percent int) float64 {
	sorted := slices.Sorted(slices.Values(figures))
	return sorted[(len(sorted)-1)*percent/100]
}

// reported sends a report and returns the sequence of its event.
func (e *endpoint) reported(ctx context.Context, authorization, key string, body []byte) (uint64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, strings.NewReader(string(body)))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Authorization", authorization)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(wire.HeaderKey, key)
	response, err := e.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("a report: %s: %s: %w", response.Status, text, err)
	}
	number, _, _ := strings.Cut(strings.TrimPrefix(string(text), `{"sequence":`), ",")
	return strconv.ParseUint(number, 10, 64)
}

// arrivals are the times at which frames came, by sequence.
type arrivals struct {
	mu    sync.Mutex
	times map[uint64]time.Time
	news  chan struct{}
}

func newArrivals() *arrivals {
	return &arrivals{times: map[uint64]time.Time{}, news: make(chan struct{})}
}

func (a *arrivals) at(sequence uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.times[sequence] = time.Now()
	close(a.news)
	a.news = make(chan struct{})
}

// of waits for a frame and forgets the others.
func (a *arrivals) of(ctx context.Context, sequence uint64) (time.Time, error) {
	for {
		a.mu.Lock()
		came, known := a.times[sequence]
		news := a.news
		if known {
			clear(a.times)
		}
		a.mu.Unlock()
		if known {
			return came, nil
		}
		select {
		case <-news:
		case <-time.After(30 * time.Second):
			return came, fmt.Errorf("the frame of event %d did not come", sequence)
		case <-ctx.Done():
			return came, ctx.Err()
		}
	}
}

// readLive reads the live views until ctx ends. begun receives once when it is connected, or has failed.
func readLive(
	ctx context.Context, client *http.Client, url, authorization string, begun chan<- error, came func(uint64),
) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		begun <- err
		return
	}
	request.Header.Set("Authorization", authorization)
	response, err := client.Do(request)
	if err != nil {
		begun <- err
		return
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(response.Body)
		begun <- fmt.Errorf("GET %s: %s: %s", url, response.Status, text)
		return
	}
	in := bufio.NewReaderSize(response.Body, 64<<10)
	first := true
	for {
		line, more, err := in.ReadLine()
		if err != nil {
			return
		}
		for more && err == nil {
			_, more, err = in.ReadLine()
		}
		id, found := strings.CutPrefix(string(line), "id: ")
		if !found {
			continue
		}
		number, _, _ := strings.Cut(id, ".")
		sequence, _ := strconv.ParseUint(number, 10, 64)
		came(sequence)
		if first {
			first = false
			begun <- nil
		}
	}
}

// stall opens the live views and never reads them.
func stall(ctx context.Context, base, path, authorization string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: %s\r\n\r\n", path, authorization)
	return conn, err
}

// write writes so many events a second until ctx ends, and counts those that were written.
func (b *bench) write(ctx context.Context, rate int, written *atomic.Int64) {
	const every = 10 * time.Millisecond
	ticks := time.NewTicker(every)
	defer ticks.Stop()
	var all sync.WaitGroup
	defer all.Wait()
	room := make(chan struct{}, 1024)
	load := &commands.Report{Kind: events.ReportProgress, Message: message, TaskIDs: []string{b.task}}
	for n := 0; ; n++ {
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return
		}
		for i := range rate / int(time.Second/every) {
			select {
			case room <- struct{}{}:
			default: // the disk is slower than that
				continue
			}
			all.Go(func() {
				defer func() { <-room }()
				if _, err := b.do(ctx, b.worker, load, "load "+strconv.Itoa(n)+" "+strconv.Itoa(i)); err == nil {
					written.Add(1)
				}
			})
		}
	}
}
