"""What is stored against what the cluster's metadata know, both ways; what is paid for and no broker needs. Pure."""
