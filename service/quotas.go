package service

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"maestro/internal/safetext"
)

// Quota bounds the use of one resource by one class of callers, so that nobody can block the server for others.
type Quota struct {
	// Name is the name for `serve --set-limit`: "<whose>-<what>".
	Name string
	// Value is a rate per second if Burst is not 0, and otherwise the maximum at one time. 0 is no limit.
	Value float64
	// Burst is how much of a rate an idle caller may use at once.
	Burst float64
	// About describes what is counted.
	About string
}

// bytesPerUnit is how much of an answer counts as one more read.
const bytesPerUnit = 16 << 10

// StepsPerCommand is how many steps of work count as one more command: the look-ups of a decision and of the fold of
// its event, and the creation of a manifest. The first steps are included in the command. So many steps cost the writer
// at most as much as a plain command: BenchmarkStepPrice in engine measures about 240.
const StepsPerCommand = 200

// EventsPerRead is how many events, read sequentially, count as one more read. FoundPerRead is the same for events that
// are looked up individually.
const (
	EventsPerRead = 200
	FoundPerRead  = 20
)

// quotas are the defaults. A normal fleet reaches none of them.
var quotas = []Quota{
	{
		"session-commands", 200, 2000,
		"commands of one session; each 200 steps of work of one command, and each 16 KiB of its answer, count as " +
			"one more",
	},
	{"session-bytes", 128 << 10, 8 << 20, "bytes of the requests of one session"},
	{
		"session-reads", 50, 2000,
		"reads of one session; each 16 KiB of an answer, each 1,000 steps of work, and each 200 events that `since` " +
			"or an audit reads, counts as one more",
	},
	{
		"session-identities", 200, 2000,
		"calls that ask for the server's identity that prove to come from one session, above those of its address",
	},
	{"session-spawns", 1, 200, "sessions that one session spawns"},
	{"session-creates", 0.1, 50, "projects that one session creates"},
	{
		"session-uploads", 16 << 10, 64 << 20,
		"bytes of the manifests that one session uploads, or that its spawns make",
	},
	{"session-parallel", 8, 0, "calls of one session in progress"},
	{"session-waits", 16, 0, "calls of one session that wait for something"},
	{"session-streams", 1, 0, "reads of the whole log (exports, audits, `since`) of one session in progress"},
	{
		"session-answers", 16 << 20, 0,
		"bytes of answers that one session has not read, of manifests while they are made, without the first 256 KiB " +
			"of each, and of what its searches hold",
	},
	{"session-bodies", 20 << 20, 0, "bytes of requests of one session in progress"},
	{"session-questions", 20, 0, "open questions of one session"},
	{
		"reader-commands", 50, 500,
		"commands of one auditor or read-only token, which are tried or refused, and the manifests that it " +
			"generates; each 200 steps of work count as one more",
	},
	{"reader-bytes", 128 << 10, 8 << 20, "bytes of the requests of one such token"},
	{
		"reader-reads", 200, 8000,
		"reads of one auditor or read-only token; each 16 KiB of an answer, each 1,000 steps of work, and each " +
			"200 events that `since` or an audit reads, counts as one more",
	},
	{
		"reader-identities", 200, 2000,
		"calls that ask for the server's identity that prove to come from one such token, above those of its address",
	},
	{"reader-parallel", 32, 0, "calls of one such token in progress"},
	{"reader-waits", 32, 0, "calls of one such token that wait for something"},
	{"reader-streams", 2, 0, "reads of the whole log of one such token in progress"},
	{"reader-answers", 64 << 20, 0, "bytes of answers that one such token has not read"},
	{"reader-bodies", 4 << 20, 0, "bytes of requests of one such token in progress"},
	{"admin-parallel", 2048, 0, "calls of one admin token in progress"},
	{"admin-waits", 1024, 0, "calls of one admin token that wait for something"},
	{"admin-streams", 4, 0, "reads of the whole log of one admin token in progress"},
	{"admin-answers", 256 << 20, 0, "bytes of answers that one admin token has not read"},
	{"admin-bodies", 128 << 20, 0, "bytes of requests of one admin token in progress"},
	{
		"project-commands", 5000, 60_000,
		"commands of all sessions of one project, with their work; above it, a call costs its session ten times " +
			"as much",
	},
	{
		"project-bytes", 4 << 20, 128 << 20,
		"bytes of the requests of all sessions of one project; above it, as for commands",
	},
	{
		"project-reads", 1000, 20_000,
		"reads of all sessions of one project, with their work; above it, as for commands",
	},
	{
		"project-identities", 2000, 20_000,
		"calls for the server's identity that prove to come from the sessions of one project, above those of " +
			"their address",
	},
	{"project-spawns", 10, 1000, "sessions that all sessions of one project spawn"},
	{"project-creates", 0.5, 100, "projects that all sessions of one project create"},
	{
		"project-uploads", 128 << 10, 512 << 20,
		"bytes of the manifests that all sessions of one project upload, or that their spawns make",
	},
	{"project-waits", 1024, 0, "calls of all sessions of one project that wait for something"},
	{"project-streams", 2, 0, "reads of the whole log of all sessions of one project in progress"},
	{"project-answers", 128 << 20, 0, "bytes of answers that the sessions of one project have not read"},
	{"project-bodies", 96 << 20, 0, "bytes of requests of all sessions of one project in progress"},
	{"project-questions", 1000, 0, "open questions of one project"},
	{"project-tasks", 100_000, 0, "tasks of one project"},
	{"project-sessions", 5000, 0, "sessions of one project that have not ended"},
	{"project-projects", 100, 0, "projects that sessions of one project created and nobody deleted"},
	{
		"address-connections", 1024, 0,
		"connections from one address other than loopback; above it, the server closes one of whoever has most",
	},
	{"server-connections", 4096, 0, "connections; above it, the server closes one of whoever has most"},
	{
		"address-calls", 20, 200,
		"calls without a valid credential from one address; loopback addresses count as one, and are slowed down " +
			"above it",
	},
	{
		"address-identities", 2000, 10_000,
		"calls that ask for the server's identity or health, and calls of paths that lead nowhere, from one address; " +
			"above it they are slowed down, except for those that prove that they hold a valid credential",
	},
	{"server-webhooks", 20, 0, "webhooks that were not deleted"},
	{"server-calls", 200, 2000, "calls without a valid credential"},
	{"server-waits", 4096, 0, "calls that wait for something"},
	{"server-streams", 8, 0, "reads of the whole log in progress"},
	{
		"server-answers", 512 << 20, 0,
		"bytes of answers that nobody has read yet; no project or token uses more of them than are left",
	},
	{"server-bodies", 256 << 20, 0, "bytes of requests in progress; no project uses more of them than are left"},
}

// Quotas returns the quotas with their defaults, in the order of the documentation.
func Quotas() []Quota { return slices.Clone(quotas) }

// Limits holds the values that replace the defaults.
type Limits struct {
	set map[string]Quota
}

// Set parses "NAME=VALUE", or "NAME=RATE/BURST" for a rate; 0 is no limit.
func (l *Limits) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok {
		return fmt.Errorf("a limit is NAME=VALUE, or NAME=RATE/BURST for a rate, not %q", text)
	}
	q, ok := quotaNamed(name)
	if !ok {
		meant := ""
		if near := safetext.Nearest(name, quotaNames()); near != "" {
			meant = fmt.Sprintf("; did you mean %q?", near)
		}
		return fmt.Errorf("there is no limit called %q%s", name, meant)
	}
	number, burst, both := strings.Cut(value, "/")
	was := q
	var err error
	if q.Value, err = positive(number); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	switch {
	case both && was.Burst == 0:
		return fmt.Errorf("%s is no rate and takes one number, not %q", name, value)
	case both:
		if q.Burst, err = positive(burst); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if q.Burst < 1 {
			return fmt.Errorf("%s: the burst must be at least 1; write %[1]s=RATE/BURST, or %[1]s=0 for no limit", name)
		}
	case was.Burst != 0: // a burst as long as the default
		q.Burst = max(was.Burst*q.Value/was.Value, 1)
	}
	l.store(q)
	return nil
}

func positive(text string) (float64, error) {
	const most = 1 << 50
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n < 0 || n > most || n != n {
		return 0, fmt.Errorf("must be a number from 0 to %d, not %q", most, text)
	}
	return n, nil
}

// Quota returns a quota with the value in effect.
func (l *Limits) Quota(name string) Quota {
	if q, ok := l.set[name]; ok {
		return q
	}
	q, _ := quotaNamed(name)
	return q
}

func quotaNamed(name string) (Quota, bool) {
	i := slices.IndexFunc(quotas, func(q Quota) bool { return q.Name == name })
	if i < 0 {
		return Quota{}, false
	}
	return quotas[i], true
}

// String describes the quota in words: "200 a second, 6000 at once".
func (q Quota) String() string {
	switch {
	case q.Value == 0:
		return "no limit"
	case q.Burst == 0:
		return plain(q.Value)
	}
	return plain(q.Value) + " a second, " + plain(q.Burst) + " at once"
}

func plain(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

func quotaNames() []string {
	names := make([]string, len(quotas))
	for i, q := range quotas {
		names[i] = q.Name
	}
	return names
}
