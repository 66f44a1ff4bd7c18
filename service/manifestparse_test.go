package service

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
)

// manyMembers returns a manifest whose free context has this many members.
func manyMembers(n int) []byte {
	var custom strings.Builder
	for i := range n {
		fmt.Fprintf(&custom, `,"k%d":%d`, i, i)
	}
	return []byte(`{"manifestVersion":"1.0","role":"worker","strategy":"queue","tasks":[],` +
		`"session":{"model":"opus","permissionMode":"interactive"},"context":{"custom":{` + custom.String()[1:] + `}}}`)
}

// A caller that has a manifest parsed waits for a turn, and pays for its members and for the file that is written; a
// dry run writes no file.
func TestManifestByDigestIsCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := worldWith(t, &memoryLog{}, sizedBlobs{&countedBlobs{kept: map[string][]byte{}}})
		defer w.Handler.Close()
		project := w.make(w.admin(), "project:create", `{"name":"P"}`)
		task := w.make(w.admin(), "task:create", fmt.Sprintf(`{"project":%q,"title":"T"}`, project))
		lead, _ := w.leadOf(project, task)
		document := manyMembers(2 * freeMembers)
		stored, err := w.StoreManifest(t.Context(), w.admin(), document)
		if err != nil {
			t.Fatal(err)
		}
		spend := func(dryRun bool) (commands, uploads float64) {
			lead.admission = nil
			a, err := w.Admit(t.Context(), lead, Demand{Writes: true})
			if err != nil {
				t.Fatal(err)
			}
			defer a.Leave()
			commands, uploads = w.ledger.left(a.credential, useCommands), w.ledger.left(a.credential, useUploads)
			if _, err := w.named(t.Context(), lead, "session:spawn", stored.Digest, dryRun); err != nil {
				t.Fatal(err)
			}
			commands -= w.ledger.left(a.credential, useCommands)
			return commands, uploads - w.ledger.left(a.credential, useUploads)
		}
		least := float64(stepsPerMember * 2 * freeMembers / StepsPerCommand)
		if commands, uploads := spend(true); commands < least || uploads != 0 {
			t.Errorf("a dry run costs %v commands and %v bytes of uploads", commands, uploads)
		}
		if _, uploads := spend(false); uploads < float64(len(document)/2) {
			t.Errorf("a spawn by digest costs %v bytes of uploads, the manifest has %d", uploads, len(document))
		}
		for range rendered {
			if _, err := w.rendering.take(t.Context(), &Caller{}); err != nil {
				t.Fatal(err)
			}
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		for name, parse := range map[string]func() error{
			"by its digest": func() error {
				_, err := w.named(gone, lead, "session:spawn", stored.Digest, true)
				return err
			},
			"an upload": func() error {
				_, err := w.StoreManifest(gone, w.admin(), document)
				return err
			},
		} {
			if err := parse(); !errors.Is(err, context.Canceled) {
				t.Errorf("%s waits for no turn: %v", name, err)
			}
		}
	})
}
