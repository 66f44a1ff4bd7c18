package service

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net"
	"sync"
	"time"

	"maestro/internal/syntax"
)

// saveUsesEvery is how often the uses of tokens are saved.
const saveUsesEvery = time.Minute

// TokenUse is the last call with a named token.
type TokenUse struct {
	// Generation says which of the tokens of that name it was.
	Generation int `json:"generation"`
	// At is in milliseconds since 1970, From the address of the caller without its port.
	At   int64  `json:"at"`
	From string `json:"from"`
}

// UseStore stores the uses of tokens across restarts.
type UseStore interface {
	Load() ([]byte, error)
	Save(content []byte) error
}

// TokenUses remembers when each named token was used last. A use is not an event: a killed process loses the last
// minute. It is safe for concurrent use.
type TokenUses struct {
	store  UseStore
	logger *slog.Logger
	mu     sync.Mutex
	uses   map[string]TokenUse
	dirty  bool
}

// OpenTokenUses returns the uses in the store, which may be nil. It discards what cannot be read.
func OpenTokenUses(store UseStore, logger *slog.Logger) *TokenUses {
	u := &TokenUses{store: store, logger: logger, uses: map[string]TokenUse{}}
	if store == nil {
		return u
	}
	content, err := store.Load()
	if err == nil && len(content) > 0 {
		err = syntax.Plain(json.Unmarshal(content, &u.uses))
	}
	if err != nil {
		logger.Warn("when tokens were used last cannot be read, and is forgotten", "why", err)
	}
	if u.uses == nil {
		u.uses = map[string]TokenUse{}
	}
	return u
}

// Run saves the uses from time to time until ctx ends, and then once more.
func (u *TokenUses) Run(ctx context.Context) {
	tick := time.NewTicker(saveUsesEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			u.save()
		case <-ctx.Done():
			u.save()
			return
		}
	}
}

func (u *TokenUses) save() {
	u.mu.Lock()
	if !u.dirty || u.store == nil {
		u.mu.Unlock()
		return
	}
	u.dirty = false
	uses := maps.Clone(u.uses)
	u.mu.Unlock()
	content, err := json.Marshal(uses)
	if err == nil {
		err = u.store.Save(content)
	}
	if err != nil {
		u.logger.Warn("when tokens were used last could not be saved", "why", err)
	}
}

// Used notes a call.
func (u *TokenUses) Used(name string, generation int, at time.Time, remote string) {
	from, _, err := net.SplitHostPort(remote)
	if err != nil {
		from = remote
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.uses[name] = TokenUse{generation, at.UnixMilli(), from}
	u.dirty = true
}

// useOf returns the last use of a token, false if there is none.
func (u *TokenUses) useOf(name string, generation int) (TokenUse, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	use, ok := u.uses[name]
	return use, ok && use.Generation == generation
}
