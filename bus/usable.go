package bus

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nats-io/nats-server/v2/server"

	"maestro/internal/disk"
	"maestro/internal/files"
)

// serverDirs lists the directories in which the server creates files.
func (e *embedded) serverDirs() []string {
	account := filepath.Join(e.storeDir(), server.DEFAULT_GLOBAL_ACCOUNT)
	dirs := []string{e.dir, e.storeDir(), account, filepath.Join(account, "streams")}
	for _, stored := range storedStreams {
		dir := e.streamDir(stored.name)
		dirs = append(dirs, dir, e.messagesDir(stored.name), filepath.Join(dir, consumersName))
	}
	return dirs
}

// usable tries what the server does first with a store: it creates a file in each directory and opens the newest block
// of each stream for writing. It leaves missing, unreadable and wrong entries to prepare. The server must not be the
// first to notice a failure: it waits forever, or deletes the stream.
func (e *embedded) usable() error {
	for _, dir := range e.serverDirs() {
		if info, err := disk.Stat(dir); err != nil || !info.IsDir() {
			continue
		}
		if err := canMakeFiles(dir); err != nil {
			return unusable(dir, err)
		}
	}
	for _, stored := range storedStreams {
		blocks, err := blockFiles(e.messagesDir(stored.name))
		if err != nil || len(blocks) == 0 {
			continue
		}
		newest := filepath.Join(e.messagesDir(stored.name), blockName(blocks[len(blocks)-1]))
		if info, err := disk.Stat(newest); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if err := opens(newest, os.O_RDWR); err != nil && opens(newest, os.O_RDONLY) == nil {
			return unusable(newest, err)
		}
	}
	return nil
}

func opens(path string, flag int) error {
	f, err := disk.OpenFile(path, flag, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// canMakeFiles creates a file in a directory and removes it.
func canMakeFiles(dir string) error {
	f, err := disk.CreateTemp(dir, ".probe-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), disk.Remove(f.Name()))
}

// unusable returns the error that the server cannot write to a path. If access is denied, the error says how to permit
// it.
func unusable(path string, err error) error {
	err = full(files.Explain(path, files.ToWrite, err))
	if denied := (*files.DeniedError)(nil); errors.As(err, &denied) {
		return err
	}
	return fmt.Errorf("the server cannot write to %s: %w; `maestro serve --read-only` reads the store meanwhile",
		path, err)
}
