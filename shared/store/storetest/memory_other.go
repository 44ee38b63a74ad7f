//go:build !linux

package storetest

func memoryDir() (string, bool) { return "", false }
