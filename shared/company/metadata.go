package company

import (
	"encoding/json"
	"strconv"
	"strings"

	"companyos/shared/task"
)

// Keys of a Product's metadata that mean something to the service.
const (
	MetadataArchiveWindow = "archive_window_days"
	MetadataRoutineIDs    = "routine_ids" // kept by the service
)

// NewMetadata checks a caller's metadata and completes it. stored is what the Product has, nil for a new one: its links
// to Routines are kept whatever the caller sends. KindInvalid for a window that is not a whole number of days.
func NewMetadata(given, stored map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	m := map[string]json.RawMessage{MetadataArchiveWindow: json.RawMessage(strconv.Itoa(DefaultArchiveWindowDays))}
	for k, v := range given {
		m[k] = v
	}
	delete(m, MetadataRoutineIDs)
	if links, ok := stored[MetadataRoutineIDs]; ok {
		m[MetadataRoutineIDs] = links
	}
	if !wholeDays(m[MetadataArchiveWindow]) {
		return nil, task.Invalidf("archive_window", "Send a whole number of days, 0 or more.", "metadata.archive_window_days must be a nonnegative integer")
	}
	return m, nil
}

func wholeDays(raw json.RawMessage) bool {
	n, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 32)
	return err == nil && n >= 0
}
