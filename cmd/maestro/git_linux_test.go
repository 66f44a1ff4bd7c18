package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"maestro/projections"
	"maestro/service/wire"
)

// TestAgentWorksInGit: an agent that cannot change what git runs can do its work in git, and leaves nothing that leads
// its user's git elsewhere.
func TestAgentWorksInGit(t *testing.T) {
	t.Parallel()
	const worker = `#!/bin/bash
cat >/dev/null
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
set -e
git switch -q -c work
echo fix >fix.txt && git add fix.txt && git commit -q -m "Fix it"
git worktree add -q -b other ../other 2>/dev/null || git worktree add -q -b other other
echo more >other/more.txt && git -C other add more.txt && git -C other commit -q -m "Add more"
git merge -q --no-edit other
git stash list && git gc -q && git fsck
git config user.name eve && exit 7
git push -q --set-upstream . work:copy || true
printf ../evil >.git/commondir
maestro report complete "it works"
`
	h := newAgents(t, worker)
	repository(t, h.target)
	session := h.spawn(nil)
	h.until("the agent has ended", func() bool { return h.list()[0].EndedAt != nil })
	if x := h.list()[0]; x.ID != session || x.Status != "completed" {
		output, _ := os.ReadFile(filepath.Join(h.workspaces, session, "scripted.stderr.log"))
		t.Fatalf("the session is %s: %s", x.Status, output)
	}
	for _, args := range [][]string{{"log", "--format=%s", "work"}, {"rev-parse", "copy"}, {"config", "--list"}} {
		cmd := exec.Command("git", append([]string{"-C", h.target}, args...)...)
		said, err := cmd.CombinedOutput()
		if err != nil || strings.Contains(string(said), "user.name=eve") {
			t.Errorf("git %v: %v: %s", args, err, said)
		}
	}
	if _, err := os.Lstat(filepath.Join(h.target, ".git", "commondir")); err == nil {
		t.Error("git looks for its hooks elsewhere")
	}
	entries, err := h.admin().SessionTimeline(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(entries, func(e wire.Entry) bool {
		return e.Type == projections.EntryBlocked && strings.Contains(e.Message, ".git/commondir (it led git to other")
	}) {
		t.Errorf("the timeline does not say that the agent led git elsewhere: %+v", entries)
	}
	h.nothingLeft()
}
