// Package price computes what a synthesized template costs: a month in which nothing runs, and one attempt.
package price

import "time"

// Region is where the table's prices hold; those of others differ.
const Region = "us-east-1"

// Read is when the table was read, without taxes.
var Read = time.Date(2026, time.November, 30, 0, 0, 0, 0, time.UTC)

// hours of a month, as AWS bills it.
const hours = 730

// Prices in US dollars.
const (
	fargateARMCPU    = 0.03238      // vCPU and hour
	fargateARMMemory = 0.00356      // GB and hour
	fargateX86CPU    = 0.04048      // vCPU and hour
	fargateX86Memory = 0.004445     // GB and hour
	fargateDisk      = 0.000111     // GB and hour above 20 GB
	publicIPv4       = 0.005        // hour
	natGateway       = 0.045        // hour and zone
	endpoint         = 0.01         // hour and zone of an interface endpoint
	secret           = 0.40         // month
	customerKey      = 1.00         // month
	registry         = 0.10         // GB and month in ECR
	alarm            = 0.10         // month
	dashboard        = 3.00         // month
	sqsMillion       = 0.40         // requests
	lambdaSecond     = 0.0000133334 // GB and second, arm64
	lambdaX86Second  = 0.0000166667 // GB and second, x86_64
	lambdaMillion    = 0.20         // requests
	logsGB           = 0.50         // ingested
	dsqlMillion      = 8.00         // DPU
)

// What an account has free every month.
const (
	freeSQS        = 1_000_000
	freeAlarms     = 10
	freeDashboards = 3
)

// Figures that no template holds.
const (
	imageGB       = 0.4     // what the image of one release takes in ECR
	idlePolls     = 648_000 // ReceiveMessage calls a month for one event source mapping that finds nothing
	startupMinute = 1.0     // of a task's pull and stop, billed with the attempt
	attemptDPU    = 20      // of a hundred small transactions
	attemptCalls  = 300     // api and dispatch invocations of an attempt
	callSeconds   = 0.1
	attemptLogGB  = 0.001
)
