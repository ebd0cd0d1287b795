"""What sentence vectors and word links are for: filtering, mining and aligning sentences."""
