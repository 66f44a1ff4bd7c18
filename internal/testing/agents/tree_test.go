//go:build agents

package agents_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
)

// killTree kills a process and everything below it, while it runs: the tool shells have sessions of their own.
func killTree(r *rig, pid int) {
	r.Helper()
	children := map[int][]int{}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		r.Fatal(err)
	}
	for _, path := range stats {
		content, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		fields := strings.Fields(string(content[strings.LastIndexByte(string(content), ')')+1:]))
		child, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		parent, _ := strconv.Atoi(fields[1])
		children[parent] = append(children[parent], child)
	}
	var kill func(pid int)
	kill = func(pid int) {
		for _, child := range children[pid] {
			kill(child)
		}
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
	}
	kill(pid)
}

// streams is where the recorded streams are, seen from this package.
const streams = "../../../workers/agent/testdata/streams"

var (
	times = regexp.MustCompile(`"(timestamp|uuid)":"[^"]*"`)
	held  = regexp.MustCompile(`"(tools|slash_commands|agents|skills|memory_paths|plugins)":(\[[^\]]*\]|\{[^}]*\})`)
)

// record writes a stream for the tests of workers/agent, without what differs from machine to machine.
func (r *rig) record(name string, o outcome) {
	r.Helper()
	text := strings.ReplaceAll(string(o.raw), filepath.Dir(r.launch.Target), "/machine")
	text = strings.ReplaceAll(text, *clis, "/clis")
	self, err := os.Executable()
	if err != nil {
		r.Fatal(err)
	}
	text = strings.ReplaceAll(text, self, "/maestro")
	text = held.ReplaceAllString(times.ReplaceAllString(text, `"$1":""`), `"$1":[]`)
	path := filepath.Join(streams, r.name, name+".jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		r.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.Fatal(err)
	}
}
