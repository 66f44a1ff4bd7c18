package salvage

import (
	"path/filepath"
	"strings"

	"maestro/bus"
	"maestro/internal/disk"
)

// noteOtherStores names the directories of the home that hold a log but are not the store, such as a renamed store.
func (s *salvage) noteOtherStores() {
	store := s.options.Home.Store()
	entries, err := disk.ReadDir(s.options.Home.Dir())
	if err != nil {
		s.unread(s.options.Home.Dir(), err)
		return
	}
	for _, entry := range entries {
		path := filepath.Join(s.options.Home.Dir(), entry.Name())
		if path == store || strings.HasPrefix(path, store+".") || !bus.HoldsLog(path) {
			continue
		}
		s.note("%s holds a log that was not read: copy the home, rename it to %s in the copy, and salvage that", path,
			filepath.Base(store))
	}
}
