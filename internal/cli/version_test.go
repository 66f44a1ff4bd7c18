package cli

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestVersionNamesCommitAndDate(t *testing.T) {
	b := buildOf(&debug.BuildInfo{Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "0123456789abcdef0123"},
		{Key: "vcs.time", Value: "2026-11-02T10:00:00Z"},
		{Key: "vcs.modified", Value: "true"},
	}})
	if want := ", commit 0123456789ab with changes, 2026-11-02T10:00:00Z ("; !strings.Contains(b.String(), want) {
		t.Errorf("%q lacks %q", b, want)
	}
	if got := buildOf(nil).String(); strings.Contains(got, "commit") {
		t.Errorf("a build without a commit says %q", got)
	}
}
