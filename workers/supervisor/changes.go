package supervisor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"maestro/events"
	"maestro/workers/confine"
	"maestro/workers/manifest"
	"maestro/workers/prompt"
)

const (
	// changesWithin is how long one look at the working directory may take.
	changesWithin = 10 * time.Second
	// mostChanges is how much of one look an agent is shown, in bytes.
	mostChanges = 16 << 10
	// emptyTree is git's name of a tree without files: attributes, which name programs to run, are read from there.
	emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
	// newestCommits is how many commits an agent is shown.
	newestCommits = 10
)

// takesOver reports whether an agent worked on this before: in an earlier run of the session, or in another session.
func (s *supervisor) takesOver(m *manifest.Manifest) bool {
	if s.Resumes || m.Context == nil {
		return s.Resumes
	}
	var custom map[string]json.RawMessage
	return json.Unmarshal(m.Context.Custom, &custom) == nil && custom[manifest.PredecessorKey] != nil
}

// changes returns what an agent that takes over finds in its working directory: the newest commits, and what is not
// committed. It is empty if the directory is in no git repository.
//
// Git runs programs that a repository's configuration names, and an agent may have written that. So it runs behind the
// boundary of an agent that may only read.
func (s *supervisor) changes(ctx context.Context) (found []prompt.Change) {
	git, err := exec.LookPath("git")
	if err != nil {
		return nil
	}
	for _, look := range []struct {
		name string
		args []string
	}{
		{"commits", []string{"log", "-n", strconv.Itoa(newestCommits), "--no-show-signature", "--format=%h %cr: %s"}},
		{"status", []string{"status", "--short", "--branch"}},
		{"diff", []string{"diff", "--no-ext-diff", "--no-textconv", "--stat", "--patch", "HEAD"}},
	} {
		args := append([]string{
			"git", "--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "color.ui=false",
		}, look.args...)
		said, err := s.gitSays(ctx, git, args)
		if err != nil {
			s.logger.Debug("git says nothing about the working directory", "command", look.args[0], "why", err)
			continue
		}
		text, more := events.Beginning(s.blank(strings.TrimRight(said, "\n")), mostChanges)
		if text != "" {
			found = append(found, prompt.Change{Name: look.name, Text: text, Cut: more})
		}
	}
	return found
}

// gitSays runs git in the working directory, and returns what it prints.
func (s *supervisor) gitSays(ctx context.Context, path string, args []string) (string, error) {
	policy := s.boundary(s.judge.dirs.Home)
	// What the repository makes git run acts for nobody: it reaches no socket, and changes nothing but its own files.
	policy.ReadWrite, policy.ReadOnly, policy.Sockets = []string{policy.Temp}, nil, nil
	policy.Reads = append(policy.Reads, s.dirs.Target)
	policy.Exposed = append(policy.Exposed, path)
	said, err := s.readBehind(ctx, policy, &exec.Cmd{
		Path: path,
		Args: args,
		Env: []string{
			"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + policy.Temp, "LC_ALL=C.UTF-8",
			"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_ATTR_SOURCE=" + emptyTree,
		},
		Dir: s.dirs.Target,
	}, changesWithin)
	var exit *exec.ExitError
	if said != "" && errors.As(err, &exit) {
		err = nil // what it says is true all the same
	}
	return said, err
}

// readBehind runs a program behind the boundary, and returns the beginning of what it prints.
func (s *supervisor) readBehind(
	ctx context.Context, policy confine.Policy, cmd *exec.Cmd, within time.Duration,
) (string, error) {
	said := &beginning{most: mostChanges + 1}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	cmd.Stdout, cmd.WaitDelay, cmd.SysProcAttr = said, time.Second, ownGroup()
	process, err := s.start(ctx, policy, cmd)
	if err != nil {
		return "", err
	}
	defer s.children.Ended(process.Pid())
	stop := context.AfterFunc(ctx, process.Kill)
	defer stop()
	err = process.Wait()
	return said.String(), err
}

// beginning keeps the first bytes that are written to it.
type beginning struct {
	bytes.Buffer
	most int
}

func (b *beginning) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), max(0, b.most-b.Len()))])
	return len(p), nil
}
