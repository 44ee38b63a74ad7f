package wire

import (
	"math"

	"companyos/shared/task"
)

// Bodies of the sandbox's API. A newer supervisor may say more than this build knows, so unknown names are ignored.
var (
	ClaimBody = Body[ClaimRequest]{Model: Model{Name: "SandboxClaim", Extra: true, Fields: []Field{
		str("instance").required().notEmpty().max(128),
	}}}
	PreparedBody = Body[PreparedRequest]{Model: Model{Name: "SandboxPrepared", Extra: true, Fields: []Field{
		str("url").required().notEmpty().max(2048),
		str("branch").required().notEmpty().max(1024),
		str("commit").required().max(128), // what is no commit ends the run, with its reason
		list("warnings", str("")),
	}}}
	EventsBody = Body[EventsRequest]{KeepNUL: true, Model: Model{Name: "SandboxEvents", Extra: true, Fields: []Field{
		integer("n", 1).required().rule(batchNumber),
		list("events", Field{Type: FieldModel, Model: eventModel()}).required(),
	}}}
	ArtifactBody = Body[ArtifactRequest]{Model: Model{Name: "SandboxArtifact", Extra: true, Fields: []Field{
		literal("kind", names([]ArtifactKind{ArtifactPatch, ArtifactTranscript, ArtifactResult, ArtifactLog})).required(),
		str("sha256").required().rule(sha256Hex),
		integer("size", 0).required(),
	}}}
	ResultBody = Body[ResultRequest]{Model: Model{Name: "SandboxResult", Extra: true, Fields: []Field{
		str("sha256").required().rule(sha256Hex),
	}}}
	// ResultFileBody is the table of result.json, which is read from the artifacts and not from a request.
	ResultFileBody = Body[ResultFile]{Model: Model{Name: "SandboxResultFile", Extra: true, Fields: []Field{
		literal("kind", names(task.EndKinds())).required(),
		str("content").required(),
		{Name: "usage", Type: FieldModel, Model: usageModel(), Nullable: true},
		{Name: "patch", Type: FieldModel, Model: resultArtifactModel(), Nullable: true},
		{Name: "transcript", Type: FieldModel, Model: resultArtifactModel(), Nullable: true},
	}}}
)

func eventModel() *Model {
	return &Model{Name: "SandboxEvent", Extra: true, Fields: []Field{
		integer("seq", 0),
		integer("at", 0).required().rule(epochSeconds),
		literal("type", names(EventTypes())).required(),
		str("text"),
		str("tool"),
		str("tool_id"),
		str("input"),
		str("output"),
		{Name: "exit_code", Type: FieldInt, Nullable: true},
		{Name: "failed", Type: FieldBool},
		str("host"),
		str("reason"),
		str("url"),
		str("branch"),
		str("commit"),
		list("paths", str("")),
		str("sha256"),
		integer("size", 0),
		integer("files", 0),
		{Name: "usage", Type: FieldModel, Model: usageModel(), Nullable: true},
		literal("kind", names(task.EndKinds())),
		{Name: "redacted", Type: FieldBool},
		str("session"),
		str("harness_version"),
		str("lock"),
		integer("launch", 0),
	}}
}

// epochSeconds refuses a time that no calendar has.
func epochSeconds(v *value) string {
	if n, _ := laxInt(v); n > 253402300799 { // the end of the year 9999
		return "must be epoch seconds"
	}
	return ""
}

// batchNumber refuses a count that nobody reaches by counting and that the store does not hold.
func batchNumber(v *value) string {
	if n, _ := laxInt(v); n > math.MaxInt32 {
		return "must be a count of batches"
	}
	return ""
}

func usageModel() *Model {
	return &Model{Name: "SandboxUsage", Extra: true, Fields: []Field{
		integer("input_tokens", 0),
		integer("output_tokens", 0),
		integer("cache_read_tokens", 0),
		integer("cache_write_tokens", 0),
		{Name: "cost_usd", Type: FieldNumber, Nullable: true},
		{Name: "cost_known", Type: FieldBool},
	}}
}

func resultArtifactModel() *Model {
	return &Model{Name: "SandboxResultArtifact", Extra: true, Fields: []Field{
		str("sha256").required().rule(sha256Hex),
		integer("size", 0).required(),
		integer("files", 0),
		integer("taken_at", 0),
		{Name: "redacted", Type: FieldBool},
	}}
}
