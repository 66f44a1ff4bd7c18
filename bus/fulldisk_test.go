//go:build linux

package bus

import (
	"os"
	"path/filepath"
	"testing"

	"maestro/internal/testing/logtest"
)

func TestFullDisk(t *testing.T) {
	inChildren(t, "the disk was full after", func(t *testing.T, d Durability) {
		logtest.RunTrap(t, "FullDisk", func(t *testing.T) logtest.Fixture {
			b := mustOpen(t, t.TempDir(), d)
			limit := newFileLimit(t)
			return logtest.Fixture{
				Log: b,
				FillDisk: func(t *testing.T) {
					info, err := os.Stat(filepath.Join(b.embedded.messagesDir(StreamName), "1.blk"))
					if err != nil {
						t.Fatal(err)
					}
					limit.set(t, uint64(info.Size())+64<<10+123)
				},
				MakeRoom: limit.lift,
			}
		})
	})
}
