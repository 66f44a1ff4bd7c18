package benchmark

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"maestro/service/wire"
)

const (
	// sizeSessions is how many sessions report; each has a task of its own.
	sizeSessions = 100
	// sizeUnit is the number of events that the goals of sizes are for. They grow with the log.
	sizeUnit = 1_000_000
	// sizeEmpty is the part of a goal for the memory, in MB, and readyEmpty that for a start, in seconds, that do not
	// grow with the log.
	sizeEmpty  = 60
	readyEmpty = 0.25
)

// sizes measures what a log of so many events costs: the server's memory while it runs and after a start, the time
// until it is ready after kill -9, and its snapshots. It runs the binary as a process of its own.
func sizes(ctx context.Context, o Options, report func(Check)) (err error) {
	n := o.Size
	s := &sized{options: o, home: filepath.Join(o.Dir, "home"), client: &http.Client{Transport: &http.Transport{
		MaxIdleConns: sizeSessions, MaxIdleConnsPerHost: sizeSessions,
	}}}
	defer func() { err = errors.Join(err, s.kill()) }()
	if _, err := s.start(ctx); err != nil {
		return err
	}
	if err := s.fill(ctx, n); err != nil {
		return err
	}
	share := float64(n) / sizeUnit
	head, err := s.head(ctx)
	if err != nil {
		return err
	}
	megabytes := func(name string, goal float64, of string) error {
		resident, err := s.resident()
		if err == nil {
			goal = sizeEmpty + (goal-sizeEmpty)*share
			report(atMostFigure(name, goal, resident, "MB", fmt.Sprintf("%d events, %s", head, of)))
		}
		return err
	}
	if err := megabytes("size_running", 300, "after writing them"); err != nil {
		return err
	}
	if err := s.kill(); err != nil {
		return err
	}
	took, err := s.start(ctx)
	if err != nil {
		return err
	}
	report(atMostFigure("size_ready", readyEmpty+(1-readyEmpty)*share, took.Seconds(), "s",
		fmt.Sprintf("%d events, after kill -9", head)))
	if err := megabytes("size_started", 250, "after that start"); err != nil {
		return err
	}
	log, err := treeSize(filepath.Join(s.home, "store"))
	if err != nil {
		return err
	}
	snapshots, err := treeSize(filepath.Join(s.home, "snapshots"))
	if err != nil {
		return err
	}
	const mega = 1 << 20
	report(atMost("size_snapshots", 0.05, []float64{snapshots / mega}, []float64{log / mega}, "MB", "the store"))
	return nil
}

// atMostFigure is a check of one figure, without a baseline.
func atMostFigure(name string, goal, value float64, unit, of string) Check {
	c := atMost(name, goal, []float64{value}, []float64{1}, unit, "what is wanted: "+of)
	c.Baseline = goal
	return c
}

// sized is the server whose size is measured.
type sized struct {
	options Options
	home    string
	server  *exec.Cmd
	url     string
	client  *http.Client
}

// start starts the server, and returns how long it took until it was ready.
func (s *sized) start(ctx context.Context) (time.Duration, error) {
	args := []string{"serve", "--listen", "127.0.0.1:0", "--backup-every", "off", "--durability", "interval"}
	for _, limit := range []string{
		"session-commands", "session-bytes", "session-parallel", "project-commands", "project-bytes",
		"project-sessions", "project-tasks", "address-calls",
	} {
		args = append(args, "--set-limit", limit+"=0")
	}
	s.server = exec.CommandContext(ctx, s.options.Binary, args...)
	s.server.Env = []string{"HOME=" + s.options.Dir, "MAESTRO_HOME=" + s.home}
	s.server.Stderr = io.Discard
	out, err := s.server.StdoutPipe()
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := s.server.Start(); err != nil {
		return 0, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("the server did not start: %w", err)
	}
	for _, word := range strings.Fields(line) {
		if strings.HasPrefix(word, "http://") {
			s.url = word
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	_, err = s.get(ctx, "", "/readyz")
	return time.Since(begin), err
}

func (s *sized) kill() error {
	if s.server == nil || s.server.Process == nil {
		return nil
	}
	err := s.server.Process.Kill()
	_ = s.server.Wait()
	s.server = nil
	return err
}

// fill has sessions report until the log has about n events.
func (s *sized) fill(ctx context.Context, n int) error {
	admin, err := os.ReadFile(filepath.Join(s.home, "admin.token"))
	if err != nil {
		return err
	}
	token := strings.TrimSpace(string(admin))
	project, err := s.made(ctx, token, "project:create", `{"name":"Size"}`)
	if err != nil {
		return err
	}
	failed := make(chan error, sizeSessions)
	var all sync.WaitGroup
	for i := range sizeSessions {
		task, err := s.made(ctx, token, "task:create", fmt.Sprintf(`{"project":%q,"title":"Task %d"}`, project.id, i))
		if err != nil {
			return err
		}
		session, err := s.made(ctx, token, "session:spawn", fmt.Sprintf(`{"project":%q,"taskIds":[%q]}`, project.id,
			task.id))
		if err != nil {
			return err
		}
		all.Go(func() {
			for k := range n / sizeSessions {
				body := fmt.Sprintf(`{"message":"%s, step %d","taskIds":[%q]}`, message, k, task.id)
				if _, err := s.made(ctx, session.token, "report:progress", body); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	all.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// madeObject is what a command created, and its secret.
type madeObject struct{ id, token string }

func (s *sized) made(ctx context.Context, token, id, body string) (madeObject, error) {
	text, err := s.call(ctx, http.MethodPost, token, "/api/commands/"+id, body)
	if err != nil {
		return madeObject{}, err
	}
	var answer struct {
		Token string `json:"token"`
		Event struct {
			Data struct {
				ProjectID string `json:"projectId"`
				TaskID    string `json:"taskId"`
				SessionID string `json:"sessionId"`
			} `json:"data"`
		} `json:"event"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return madeObject{}, err
	}
	data := answer.Event.Data
	made := madeObject{data.ProjectID, answer.Token}
	for _, id := range []string{data.TaskID, data.SessionID} {
		if made.id == "" {
			made.id = id
		}
	}
	return made, nil
}

func (s *sized) get(ctx context.Context, token, path string) ([]byte, error) {
	return s.call(ctx, http.MethodGet, token, path, "")
}

func (s *sized) call(ctx context.Context, method, token, path, body string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s: %s", method, path, response.Status, text)
	}
	return text, err
}

// head returns the sequence of the newest event.
func (s *sized) head(ctx context.Context) (uint64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/readyz", nil)
	if err != nil {
		return 0, err
	}
	response, err := s.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return strconv.ParseUint(response.Header.Get(wire.HeaderSequence), 10, 64)
}

// resident returns the server's resident memory in megabytes; it fails where the system does not show it.
func (s *sized) resident() (float64, error) {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(s.server.Process.Pid) + "/status")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0, errors.New("the system does not show how much memory the server takes")
	}
	kilobytes, err := strconv.ParseFloat(fields[0], 64)
	return kilobytes / 1024, err
}

func treeSize(dir string) (size float64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += float64(info.Size())
		}
		return err
	})
	return size, err
}
