package bus

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/minio/highwayhash"
	"github.com/nats-io/nats-server/v2/server"
)

// The files beside a stream's blocks that hold its configuration, and its sum. Without them nats-server passes the
// stream over.
const (
	metaName    = "meta.inf"
	metaSumName = "meta.sum"
)

// metaFits reports whether a stream's configuration can be read.
func metaFits(path, stream string) bool {
	config, err := os.ReadFile(filepath.Join(path, metaName))
	if err != nil {
		return false
	}
	sum, err := os.ReadFile(filepath.Join(path, metaSumName))
	if err != nil {
		return false
	}
	key := sha256.Sum256([]byte(stream))
	hash, err := highwayhash.NewDigest64(key[:])
	if err != nil {
		return false
	}
	_, _ = hash.Write(config)
	var info server.FileStreamInfo
	return hex.EncodeToString(hash.Sum(nil)) == string(sum) && json.Unmarshal(config, &info) == nil &&
		info.Name == stream
}

// repairMeta makes the configurations again that cannot be read, as this version makes them for a new store. The
// blocks hold all that cannot be made again.
func (e *embedded) repairMeta(ctx context.Context) error {
	var broken []string
	for _, s := range storedStreams {
		path := streamPath(e.dir, s.name)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if !metaFits(path, s.name) {
			broken = append(broken, s.name)
		}
	}
	if len(broken) == 0 {
		return nil
	}
	model, err := os.MkdirTemp(e.dir, ".model-*")
	if err != nil {
		return fmt.Errorf("make a stream's configuration again: %w", full(err))
	}
	defer func() { _ = os.RemoveAll(model) }()
	b, err := Open(ctx, Options{Dir: model, Durability: Interval})
	if err == nil {
		err = b.Close()
	}
	if err != nil {
		return fmt.Errorf("make a stream's configuration again: %w", err)
	}
	for _, stream := range broken {
		e.logger.Warn("the configuration of a stream could not be read, and is made again", "stream", stream)
		for _, name := range []string{metaName, metaSumName} {
			content, err := os.ReadFile(filepath.Join(streamPath(model, stream), name))
			if err == nil {
				err = writeAtomically(filepath.Join(streamPath(e.dir, stream), name), content)
			}
			if err != nil {
				return fmt.Errorf("make the configuration of %s again: %w", stream, err)
			}
		}
	}
	return nil
}
