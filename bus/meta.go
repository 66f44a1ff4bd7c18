package bus

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/minio/highwayhash"
	"github.com/nats-io/nats-server/v2/server"

	"maestro/internal/disk"
)

// The files beside a stream's blocks that hold its configuration and its checksum. Without them nats-server skips the
// stream.
const (
	metaName    = "meta.inf"
	metaSumName = "meta.sum"
)

// metaFits reports whether a stream's configuration can be read and makes the server keep all messages.
func metaFits(path, stream string) bool {
	config, err := readFile(filepath.Join(path, metaName), maxMeta)
	if err != nil {
		return false
	}
	sum, err := readFile(filepath.Join(path, metaSumName), maxMeta)
	if err != nil {
		return false
	}
	var info server.FileStreamInfo
	decoder := json.NewDecoder(bytes.NewReader(config))
	decoder.DisallowUnknownFields() // the server takes such a stream out of service
	return metaSum(config, stream) == string(sum) && decoder.Decode(&info) == nil && info.Name == stream &&
		deletesNothing(&info.StreamConfig)
}

// metaSum returns the content of the checksum file.
func metaSum(config []byte, stream string) string {
	key := sha256.Sum256([]byte(stream))
	hash, err := highwayhash.NewDigest64(key[:])
	if err != nil {
		panic(err) // the key has the right length
	}
	_, _ = hash.Write(config)
	return hex.EncodeToString(hash.Sum(nil))
}

// deletesNothing reports whether the server keeps all messages when it opens a stream with this configuration. Only the
// stream of refusals has limits.
func deletesNothing(c *server.StreamConfig) bool {
	bounded := c.Name == DeniedStream || c.MaxMsgs <= 0 && c.MaxBytes <= 0 && c.MaxMsgsPer <= 0
	return bounded && c.FirstSeq <= 1 && c.MaxAge == 0 && !c.AllowMsgTTL && !c.AllowMsgSchedules &&
		c.Retention == server.LimitsPolicy && c.Storage == server.FileStorage &&
		c.Mirror == nil && len(c.Sources) == 0 && c.Compression == server.NoCompression
}

// repairMeta recreates unreadable configurations, as this version creates them for a new store. Everything that cannot
// be recreated is in the blocks.
func (e *embedded) repairMeta(ctx context.Context) error {
	var broken []string
	for _, s := range storedStreams {
		path := streamPath(e.dir, s.name)
		if layout, err := layoutOf(e.dir, s.name); err != nil || len(layout.faults) > 0 {
			continue // the check reports what is wrong there
		}
		if _, err := disk.Stat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if !metaFits(path, s.name) {
			broken = append(broken, s.name)
		}
	}
	if len(broken) == 0 {
		return nil
	}
	model, err := disk.MkdirTemp(e.dir, ".model-*")
	if err != nil {
		return fmt.Errorf("make a stream's configuration again: %w", full(err))
	}
	defer func() { _ = disk.RemoveAll(model) }()
	b, err := Open(ctx, Options{Dir: model, Durability: Interval})
	if err == nil {
		err = b.Close()
	}
	if err != nil {
		return fmt.Errorf("make a stream's configuration again: %w", err)
	}
	for _, stream := range broken {
		e.logger.Warn("the configuration of a stream is damaged, or deletes messages; it is recreated",
			"stream", stream)
		for _, name := range []string{metaName, metaSumName} {
			content, err := disk.ReadFile(filepath.Join(streamPath(model, stream), name))
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
